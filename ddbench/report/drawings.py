"""Which figures a report has, from its plain data."""

from collections.abc import Iterator, Sequence

from ddbench.compare.acceptance import Depth
from ddbench.compare.linear_vs_tree import Cell, LinearVsTree, Pair
from ddbench.compare.why import Decomposition
from ddbench.report.figures import decomposition, pareto, survival, throughput
from ddbench.report.heat_map import render
from ddbench.report.prediction import Prediction
from ddbench.report.sections import Figure, Said
from ddbench.report.summary import Row


def result_figures(rows: Sequence[Row]) -> Iterator[Figure]:
    """Throughput against what was asked, and against the speed of one stream.

    Closed loops and open ones have figures of their own.
    """
    order = _arms(rows)
    closed = [row for row in rows if row.rate_per_s is None]
    yield from _load_figures(closed, order, "concurrency", "")
    is_open = [row for row in rows if row.rate_per_s is not None]
    yield from _load_figures(is_open, order, "requests/s", "-open")


def _load_figures(
    rows: Sequence[Row], order: tuple[str, ...], load_name: str, suffix: str
) -> Iterator[Figure]:
    lines = [
        throughput.Line(
            arm,
            tuple(
                throughput.Point(row.rate_per_s or row.concurrency, row.tokens_per_s)
                for row in rows
                if row.arm == arm and row.tokens_per_s is not None
            ),
        )
        for arm in order
    ]
    if any(line.points for line in lines):
        yield Figure(
            f"throughput{suffix}",
            (f"Throughput against {load_name}, with 95 % intervals",),
            throughput.draw(throughput.ThroughputFigure(tuple(lines), load_name, order)),
        )
    points = [
        pareto.Point(
            row.arm, row.rate_per_s or row.concurrency, row.user_tokens_per_s, row.tokens_per_s
        )
        for row in rows
        if row.user_tokens_per_s is not None and row.tokens_per_s is not None
    ]
    if points:
        yield Figure(
            f"pareto{suffix}",
            ("tok/s of the server against tok/s of one user",),
            pareto.draw(pareto.ParetoFigure(tuple(points), load_name, order)),
        )


def survival_figures(found: LinearVsTree, rows: Sequence[Row]) -> Iterator[Figure]:
    """Of the lowest concurrency of each pair: acceptance does not depend on it."""
    curves: dict[str, tuple[Depth, ...]] = {}
    where: set[int] = set()
    for pair in found.pairs:
        if pair.cells:
            curves.setdefault(pair.linear, pair.cells[0].linear_survival)
            curves.setdefault(pair.tree, pair.cells[0].tree_survival)
            where.add(pair.cells[0].concurrency)
    drawn = [
        survival.Curve(arm, tuple(depth.survival for depth in depths))
        for arm, depths in curves.items()
        if depths
    ]
    if drawn:
        asked = " and ".join(map(str, sorted(where)))
        figure = survival.SurvivalFigure(tuple(drawn), f"concurrency {asked}", _arms(rows))
        yield Figure(
            "survival",
            ("Share of verify steps that accept at least so many drafts",),
            survival.draw(figure),
        )


def decomposition_figures(found: LinearVsTree) -> Iterator[Figure]:
    """One a tree of which the factors could be had."""
    for number, pair in enumerate(found.pairs, start=1):
        factors = [
            _factors(pair, cell, cell.why)
            for cell in pair.cells
            if isinstance(cell.why, Decomposition)
        ]
        if factors:
            yield Figure(
                f"why-{number}",
                ("Factors of tok/s, ", Said(pair.tree), " over ", Said(pair.linear)),
                decomposition.draw(
                    decomposition.DecompositionFigure(pair.linear, pair.tree, tuple(factors))
                ),
            )


def heat_map_figure(found: Prediction) -> Figure:
    return Figure(
        "prediction",
        ("Predicted tokens/step and tok/s of every budget and topk",),
        render(found.panels, budgets=found.budgets, topks=found.topks),
        is_wide=True,
    )


def _factors(pair: Pair, cell: Cell, why: Decomposition) -> decomposition.Factors:
    return decomposition.Factors(
        load=cell.concurrency,
        rounds=why.rounds,
        round_time=why.round_time,
        batch=why.occupancy,
        product=why.product,
        measured=why.measured,
        label=pair.label_of(cell) or "",
    )


def _arms(rows: Sequence[Row]) -> tuple[str, ...]:
    """Those that were timed, so that an arm looks alike in every figure."""
    return tuple(dict.fromkeys(row.arm for row in rows if row.tokens_per_s is not None))
