"""Where drafts are accepted, as sections: by group, by depth, by extra node."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ddbench.compare.acceptance import BudgetStep, Depth, Group
from ddbench.compare.linear_vs_tree import Cell, Pair
from ddbench.report.numbers import NOT_MEASURED
from ddbench.report.sections import Measured, Said, Section, Sentence
from ddbench.stats.interval import Interval
from ddbench.stats.share import MIN_SHARE_CLUSTERS

SURVIVAL = "Survival: share of verify steps that accept at least so many drafts"


def acceptance_sections(pairs: Sequence[Pair]) -> Iterator[Section]:
    """Of the lowest concurrency: acceptance does not depend on it, or a rule of check says so."""
    rows: dict[str, list[Sentence]] = {"category": [], "prompt length": []}
    for pair in pairs:
        if pair.cells:
            rows["category"] += _group_rows(pair, pair.cells[0], pair.cells[0].categories)
            rows["prompt length"] += _group_rows(pair, pair.cells[0], pair.cells[0].prompt_lengths)
    where = _where(pairs)
    for kind, found in rows.items():
        if found:
            header = ("tree", kind, "linear tokens/step", "tree tokens/step", "ratio")
            yield Section(f"Acceptance by {kind}", ((f"At {where}.",),), header, tuple(found))
    if curves := _curves(pairs):
        deepest = max(len(depths) for _, depths in curves)
        yield Section(
            SURVIVAL,
            ((_pooled(where, (depths[0].survival.n for _, depths in curves)),),),
            header=("arm", *(f"d>={depth}" for depth in range(1, deepest + 1))),
            rows=tuple(_curve_row(arm, depths, deepest) for arm, depths in curves),
        )
        yield Section(
            "Conditional acceptance: share of the steps that got to d-1 and accept d",
            header=("arm", *(f"d={depth}" for depth in range(1, deepest + 1))),
            rows=tuple(
                _curve_row(arm, depths, deepest, conditional=True) for arm, depths in curves
            ),
        )


def _where(pairs: Sequence[Pair]) -> str:
    lowest = sorted({pair.cells[0].concurrency for pair in pairs if pair.cells})
    return f"concurrency {' and '.join(map(str, lowest))}"


def _pooled(where: str, prompts: Iterable[int]) -> str:
    most = max(prompts)
    intervals = (
        "the JSON has the intervals"
        if most >= MIN_SHARE_CLUSTERS
        else f"shares of fewer than {MIN_SHARE_CLUSTERS} prompts have no intervals"
    )
    return f"At {where}, pooled over the steps of n={most} prompts; {intervals}."


def _group_rows(pair: Pair, cell: Cell, groups: Sequence[Group]) -> list[Sentence]:
    return [
        (
            *(Said(pair.tree), Said(group.name)),
            Measured(group.first),
            Measured(group.second),
            Measured(group.ratio, units="x", label=pair.label_of(cell)),
        )
        for group in groups
    ]


def _curves(pairs: Sequence[Pair]) -> list[tuple[str, tuple[Depth, ...]]]:
    curves: dict[str, tuple[Depth, ...]] = {}
    for pair in pairs:
        if pair.cells:
            curves.setdefault(pair.linear, pair.cells[0].linear_survival)
            curves.setdefault(pair.tree, pair.cells[0].tree_survival)
    return [(arm, depths) for arm, depths in curves.items() if depths]


def _curve_row(
    arm: str, depths: Sequence[Depth], deepest: int, *, conditional: bool = False
) -> Sentence:
    shares = [d.conditional if conditional else d.survival for d in depths]
    cells = [Measured(share, is_brief=True) for share in shares]
    return (Said(arm), *cells, *[NOT_MEASURED] * (deepest - len(cells)))


def budget_section(budgets: Mapping[int, Sequence[BudgetStep]]) -> Section:
    return Section(
        "Gain per extra budget node",
        header=("concurrency", "from", "to", "nodes", "tokens/step", "tokens/step a node"),
        rows=tuple(
            (
                str(concurrency),
                *(Said(step.smaller), Said(step.larger), f"+{step.nodes}"),
                Measured(step.ratio, units="x"),
                _gain(step.gain_a_node),
            )
            for concurrency, steps in budgets.items()
            for step in steps
        ),
    )


def _gain(gain: Interval) -> str:
    """Of a few hundredths, which the usual two decimals would round away."""
    text = f"{gain.value:+.4f}"
    if gain.low is not None and gain.high is not None:
        text += f" [{gain.low:+.4f}, {gain.high:+.4f}]"
    return f"{text} n={gain.n}"
