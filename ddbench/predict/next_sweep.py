"""Which few settings to run after a prediction, and the sweep file that runs them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from ddbench.errors import PlanError
from ddbench.plan.read import parse_sweep
from ddbench.predict.forecast import Candidate, Forecaster
from ddbench.predict.step_time import WIDTH_EDGES, NotPredicted, tree_cost
from ddbench.records import Speculation

FEWEST = 3
MOST = 5
ANOTHER_WIDTH = 1.25
"""A tree this many times wider or narrower than the best one is another bet on step times."""

LADDER = (7, 15, 31, 63, 127)
"""Budgets of widths 8 to 128, which kernels and graphs are made for."""

SUFFIX = "-next"


def settings_to_measure(
    forecaster: Forecaster, best: Mapping[int, Sequence[Candidate]]
) -> list[Speculation]:
    """The trees to run to be sure, at most five, none that was timed.

    The best of each concurrency; its best rival of another width; and trees that would let more be
    predicted, where something was refused. Then the next fastest.
    Where no tree was timed, a ladder of widths instead: step times are what is missing.

    best: concurrency -> its candidates, the fastest first.
    """
    if not any(c.speculation.budget for candidates in best.values() for c in candidates):
        return _ladder(forecaster)
    chosen: dict[Speculation, None] = {}
    untimed = {
        concurrency: [c for c in candidates if c.timed is None]
        for concurrency, candidates in best.items()
    }
    for concurrency, candidates in best.items():
        if candidates and candidates[0].timed is None:
            chosen[candidates[0].speculation] = None
        rivals = (c for c in untimed[concurrency] if _is_other_width(c, candidates[0]))
        if (rival := next(rivals, None)) is not None:
            chosen[rival.speculation] = None
    if any(forecaster.refusals(concurrency) for concurrency in best):
        chosen |= dict.fromkeys(_openers(forecaster))
    for candidates in untimed.values():
        for candidate in candidates:
            if len(chosen) >= FEWEST:
                break
            chosen[candidate.speculation] = None
    return list(chosen)[:MOST]


def next_sweep(plan_text: str, settings: Sequence[Speculation]) -> str:
    """The run's own sweep file with `settings` as its trees, and the linear arm beside them.

    Flags, drafter and patches of its first tree arm are kept, or of its recording arm where it has
    none. Raises PlanError when there is nothing to measure.
    """
    if not settings:
        raise PlanError(
            "every setting that could be predicted was timed already",
            remedy="Widen --budgets or --topk.",
        )
    plan: dict[str, Any] = yaml.safe_load(plan_text)
    kept = _overrides(plan["arms"])
    linear = {"block_size": settings[0].block_size, **kept["linear"]}
    trees = [
        {
            "tree": {
                "block_size": setting.block_size,
                "budget": setting.budget,
                "topk": setting.topk,
                **kept["tree"],
            }
        }
        for setting in settings
    ]
    plan["name"] = f"{str(plan['name']).removesuffix(SUFFIX)}{SUFFIX}"
    plan["arms"] = [{"linear": linear}, *trees]
    plan["repeats"] = max(int(plan.get("repeats", 2)), 2)
    plan.get("load", {}).pop("record_drafts", None)
    text = (
        "# Do the settings that ddbench predicted to be the fastest keep their promise?\n"
        + yaml.safe_dump(plan, sort_keys=False, allow_unicode=True)
    )
    parse_sweep(text, file="the next sweep")
    return text


def _is_other_width(candidate: Candidate, best: Candidate) -> bool:
    own, other = candidate.speculation.verify_width or 1, best.speculation.verify_width or 1
    return max(own, other) >= ANOTHER_WIDTH * min(own, other)


def _openers(forecaster: Forecaster) -> Iterator[Speculation]:
    """The widest tree asked for, else the narrowest, if it lies beyond all timed ones; and the
    narrowest behind an edge that no line may cross."""
    timed = [c.speculation.budget for c in forecaster.cells if c.speculation.budget is not None]
    budgets = {budget for budget, _ in forecaster.trees()}
    if max(budgets) > max(timed):
        yield _with_best_topk(forecaster, max(budgets))
    elif min(budgets) < min(timed):
        yield _with_best_topk(forecaster, min(budgets))
    for edge in WIDTH_EDGES:  # a budget of as many nodes is one wider, with its root
        if edge in budgets and min(timed) < edge < max(timed):
            costs = [tree_cost(forecaster.cells, c, edge + 1) for c in forecaster.concurrencies]
            if any(isinstance(cost, NotPredicted) for cost in costs):
                yield _with_best_topk(forecaster, edge)


def _ladder(forecaster: Forecaster) -> list[Speculation]:
    """Widths that double, up to the widest asked for."""
    budgets = {budget for budget, _ in forecaster.trees()}
    rungs = [budget for budget in LADDER if budget in budgets] or [max(budgets)]
    return [_with_best_topk(forecaster, budget) for budget in rungs]


def _with_best_topk(forecaster: Forecaster, budget: int) -> Speculation:
    """The smallest topk of those that take the fewest steps."""
    topk = min(
        (topk for other, topk in forecaster.trees() if other == budget),
        key=lambda topk: (forecaster.acceptance.steps(budget, topk).sum(), topk),
    )
    return Speculation("DDTREE", forecaster.recorded.depth + 1, budget, topk)


def _overrides(arms: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """What the first arm of each kind says beside its drafting setting."""
    found: dict[str, dict[str, Any]] = {}
    for arm in arms:
        if isinstance(arm, dict):
            ((kind, section),) = arm.items()
            settings = ("block_size", "budget", "topk", "record_drafts")
            rest = {name: value for name, value in section.items() if name not in settings}
            found.setdefault("linear" if section.get("record_drafts") else kind, rest)
    linear = found.get("linear", {})
    return {"linear": linear, "tree": found.get("tree", linear)}
