"""Where drafts are accepted: by category, by length of prompt, by depth, and by extra node."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ddbench.compare.arms import ComparedArm
from ddbench.compare.measures import steps_of
from ddbench.compare.pairing import tokens_per_step_gain, tokens_per_step_ratio
from ddbench.records import RequestCompleted, RunResult, ServerConfig
from ddbench.stats.interval import Interval
from ddbench.stats.ratio import paired_ratio, pooled_ratio
from ddbench.stats.share import share_interval

_NUMBERED = re.compile(r"(?P<category>.+)-\d+")
SHORTEST_BUCKET = 64  # prompt tokens; each next bucket is twice as wide


@dataclass(frozen=True, slots=True)
class Group:
    """Prompts of one kind. first and second: pooled tokens per step; ratio: second over first."""

    name: str
    prompts: int
    first: Interval
    second: Interval
    ratio: Interval


@dataclass(frozen=True, slots=True)
class Depth:
    """survival: P(d >= depth) of a verify step; conditional: P(d >= depth | d >= depth - 1)."""

    depth: int
    survival: Interval
    conditional: Interval | None  # None where no step got to the depth before


@dataclass(frozen=True, slots=True)
class BudgetStep:
    """From one tree to the next larger of the same block and topk.

    ratio: of tokens per step, larger over smaller, paired by prompt. gain_a_node: more tokens a
    step for each more node, likewise.
    """

    smaller: str
    larger: str
    nodes: int
    ratio: Interval
    gain_a_node: Interval


def category_of(prompt_id: str) -> str | None:
    """`code` of `code-003`, as the built-in prompts are named; None of any other form."""
    match = _NUMBERED.fullmatch(prompt_id)
    return match["category"] if match else None


def by_category(first: Sequence[RunResult], second: Sequence[RunResult]) -> list[Group]:
    """Empty where the ids name no categories, or only one."""
    groups = _groups(first, second, lambda request: category_of(request.prompt_id))
    return groups if len(groups) > 1 else []


def by_prompt_length(first: Sequence[RunResult], second: Sequence[RunResult]) -> list[Group]:
    """Buckets of prompt tokens, each twice as wide as the one before; empty for a single one."""
    groups = _groups(first, second, lambda request: _bucket(request.prompt_tokens))
    return groups if len(groups) > 1 else []


def survival(trials: Sequence[RunResult]) -> list[Depth]:
    """One entry a depth from 1 on, from the histograms; empty where there are none."""
    counted = [r for trial in trials for r in trial.completed if r.histogram]
    if not counted:
        return []
    prompts = [r.prompt_id for r in counted]
    deepest = max(len(r.histogram or ()) for r in counted) - 1
    reached = [
        [float(sum((r.histogram or ())[depth:])) for r in counted] for depth in range(deepest + 1)
    ]
    return [
        Depth(
            depth=depth,
            survival=share_interval(reached[depth], reached[0], prompts),
            conditional=(
                share_interval(reached[depth], reached[depth - 1], prompts)
                if sum(reached[depth - 1])
                else None
            ),
        )
        for depth in range(1, deepest + 1)
    ]


def budget_steps(trees: Sequence[ComparedArm], concurrency: int) -> list[BudgetStep]:
    """Neighbours in budget among trees that differ in nothing else; empty without two."""
    families: dict[tuple[str, ServerConfig], list[ComparedArm]] = defaultdict(list)
    for tree in trees:
        if tree.is_tree and tree.at(concurrency):
            but_for_budget = replace(
                tree.server, speculation=replace(tree.speculation, budget=None)
            )
            families[tree.run, but_for_budget].append(tree)
    found = []
    for family in families.values():
        ordered = sorted(family, key=lambda tree: tree.speculation.budget or 0)
        for smaller, larger in pairwise(ordered):
            if (step := _budget_step(smaller, larger, concurrency)) is not None:
                found.append(step)
    return found


def _budget_step(smaller: ComparedArm, larger: ComparedArm, concurrency: int) -> BudgetStep | None:
    nodes = (larger.speculation.budget or 0) - (smaller.speculation.budget or 0)
    before, after = smaller.at(concurrency), larger.at(concurrency)
    ratio = tokens_per_step_ratio(before, after)
    gain = tokens_per_step_gain(before, after)
    if not nodes or ratio is None or gain is None:
        return None
    low, high = (None if bound is None else bound / nodes for bound in (gain.low, gain.high))
    gain_a_node = replace(gain, value=gain.value / nodes, low=low, high=high)
    return BudgetStep(smaller.name, larger.name, nodes, ratio, gain_a_node)


def _groups(
    first: Sequence[RunResult],
    second: Sequence[RunResult],
    name_of: Callable[[RequestCompleted], str | None],
) -> list[Group]:
    names: dict[str, str] = {}
    for trial in (*first, *second):
        for request in trial.completed:
            if (name := name_of(request)) is not None:
                names.setdefault(request.prompt_id, name)
    mine, theirs = _sums(first, names), _sums(second, names)
    return [
        group
        for name in dict.fromkeys(names.values())
        if (group := _group(name, mine.get(name, {}), theirs.get(name, {}))) is not None
    ]


Sums = Mapping[str, tuple[float, float]]  # prompt id -> (tokens, steps)


def _sums(trials: Sequence[RunResult], names: Mapping[str, str]) -> dict[str, Sums]:
    found: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for counted in steps_of(trials):
        if (name := names.get(counted.prompt_id)) is not None:
            tokens, steps = found[name].get(counted.prompt_id, (0.0, 0.0))
            found[name][counted.prompt_id] = tokens + counted.tokens, steps + counted.steps
    return dict(found)


def _group(name: str, first: Sums, second: Sums) -> Group | None:
    prompts = sorted(first.keys() & second.keys())
    sides = [
        ([side[p][0] for p in prompts], [side[p][1] for p in prompts], prompts)
        for side in (first, second)
    ]
    if not all(sum(column) > 0.0 for tokens, steps, _ in sides for column in (tokens, steps)):
        return None
    return Group(
        name=name,
        prompts=len(prompts),
        first=pooled_ratio(*sides[0]),
        second=pooled_ratio(*sides[1]),
        ratio=paired_ratio(sides[1], sides[0]),
    )


def _bucket(tokens: int) -> str:
    edge = SHORTEST_BUCKET
    if tokens < edge:
        return f"under {edge} tokens"
    while tokens >= 2 * edge:
        edge *= 2
    return f"{edge} to {2 * edge - 1} tokens"
