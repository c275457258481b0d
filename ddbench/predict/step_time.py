"""What a step costs: measured cells of a run, and what lies between two of them.

    tok/s = tokens * occupancy / sum over requests of (time to the first token + steps * step time)

This is c * tokens_per_step / t_step(c, W) with the first token and the tail of the load in it. Only
the steps come from a replay; the other three are measured, at one concurrency, by verify width W
(budget + 1), and interpolated between the two nearest widths. Nothing is extrapolated, neither in
width nor in concurrency, and nothing is assumed of the curve: kernels have cliffs. With CUDA graphs
no interpolation crosses one of WIDTH_EDGES either.

topk is taken to cost nothing: what a step costs goes by its width.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ddbench.records import RunResult, Speculation

WIDTH_EDGES = (8, 16, 32, 64, 128)
"""Where kernels change their tiles: a width up to an edge and one above it are two worlds."""


@dataclass(frozen=True, slots=True)
class Cost:
    """step_s: of one step, as a request sees it. occupancy: requests in flight over the trial."""

    step_s: float
    first_token_s: float
    occupancy: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One arm at one concurrency, over its repeats."""

    arm: str
    speculation: Speculation
    concurrency: int
    width: int
    cost: Cost
    tokens_per_s: float
    has_graphs: bool
    spread: float | None = None  # of its repeats' tok/s: (largest - smallest) / mean


@dataclass(frozen=True, slots=True)
class NotPredicted:
    why: str


def measured_cells(results: Iterable[RunResult]) -> list[Cell]:
    """The cells of closed loops that are done and no probes, in the order they ran."""
    groups: dict[tuple[str, int], list[RunResult]] = defaultdict(list)
    for result in results:
        load = result.trial.load
        if result.failure is None and not load.record_drafts and load.rate_per_s is None:
            groups[result.trial.arm, load.concurrency].append(result)
    return [cell for group in groups.values() if (cell := _cell(group)) is not None]


def tree_cost(cells: Sequence[Cell], concurrency: int, width: int) -> Cost | NotPredicted:
    """What a tree's step of `width` costs, from the tree cells of the same concurrency."""
    by_width: dict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.concurrency == concurrency and cell.speculation.budget is not None:
            by_width[cell.width].append(cell)
    if not by_width:
        return NotPredicted(f"no tree was timed at concurrency {concurrency}")
    if width in by_width:
        return _mean([cell.cost for cell in by_width[width]])
    widths = sorted(by_width)
    place = bisect_left(widths, width)
    if place in (0, len(widths)):
        return NotPredicted(
            f"timed at concurrency {concurrency}: widths {widths[0]} to {widths[-1]} only"
        )
    low, high = widths[place - 1], widths[place]
    if any(cell.has_graphs for cell in (*by_width[low], *by_width[high])):
        for edge in WIDTH_EDGES:
            if low <= edge < high:
                return NotPredicted(f"timed widths {low} and {high} lie on two sides of {edge}")
    share = (width - low) / (high - low)
    below, above = _mean([c.cost for c in by_width[low]]), _mean([c.cost for c in by_width[high]])
    return Cost(
        step_s=_between(below.step_s, above.step_s, share),
        first_token_s=_between(below.first_token_s, above.first_token_s, share),
        occupancy=_between(below.occupancy, above.occupancy, share),
    )


def _cell(results: Sequence[RunResult]) -> Cell | None:
    """None where the server does not say how many steps it took, or nothing was decoded."""
    trial = results[0].trial
    speculation = trial.server.speculation
    requests = [request for result in results for request in result.completed]
    if speculation.algorithm is None:
        taken: list[int | None] = [request.completion_tokens - 1 for request in requests]
    else:
        taken = [request.verify_ct for request in requests]
    counted = [count for count in taken if count is not None]
    wall_s = sum(result.wall_s or 0.0 for result in results)
    width = speculation.verify_width
    if len(counted) < len(taken) or not sum(counted) or not wall_s or width is None:
        return None
    return Cell(
        arm=trial.arm,
        speculation=speculation,
        concurrency=trial.load.concurrency,
        width=width,
        cost=Cost(
            step_s=sum(request.e2e_s - request.ttft_s for request in requests) / sum(counted),
            first_token_s=sum(request.ttft_s for request in requests) / len(requests),
            occupancy=sum(request.e2e_s for request in requests) / wall_s,
        ),
        tokens_per_s=sum(request.completion_tokens for request in requests) / wall_s,
        has_graphs=_has_graphs(results),
        spread=_spread(results),
    )


def _has_graphs(results: Sequence[RunResult]) -> bool:
    """As the log says; a server of which no log says it may have them."""
    said = {window.graph for result in results for window in result.log.decode} - {None}
    return True in said if said else results[0].trial.server.engine != "embedded"


def _spread(results: Sequence[RunResult]) -> float | None:
    rates = [
        sum(request.completion_tokens for request in result.completed) / result.wall_s
        for result in results
        if result.wall_s
    ]
    if len(rates) < 2:
        return None
    return (max(rates) - min(rates)) * len(rates) / sum(rates)


def _mean(costs: Sequence[Cost]) -> Cost:
    return Cost(
        step_s=sum(cost.step_s for cost in costs) / len(costs),
        first_token_s=sum(cost.first_token_s for cost in costs) / len(costs),
        occupancy=sum(cost.occupancy for cost in costs) / len(costs),
    )


def _between(low: float, high: float, share: float) -> float:
    return (1.0 - share) * low + share * high
