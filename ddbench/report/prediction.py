"""What a run's recorded drafts say of settings that it did not run, as a report shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ddbench.errors import DdbenchError
from ddbench.predict.acceptance import acceptance
from ddbench.predict.forecast import Candidate, Forecast, Forecaster, recommended
from ddbench.predict.recorded import RecordedArm, recorded_arm
from ddbench.predict.replay import Grid
from ddbench.predict.step_time import measured_cells
from ddbench.predict.timed import timed_alike
from ddbench.records import Launch, RunResult, Speculation
from ddbench.report.heat_map import Panel, panels_of
from ddbench.stats.interval import Interval

TOPKS = tuple(range(1, 17))
LEAST_BUDGET = 64
"""Trees up to this budget are shown, or up to the largest that was timed: a replay costs by it."""


@dataclass(frozen=True, slots=True)
class Best:
    """The setting of which the most tok/s are predicted at one concurrency.

    timed: the arm that measured its step time, None where that is interpolated. Intervals are over
    prompts. rivals: other settings of which as much is predicted, within the error of held-out
    cells; None where there is no such error.
    """

    concurrency: int
    setting: str
    timed: str | None
    tokens_per_step: Interval
    tokens_per_s: Interval
    over_linear: Interval | None
    rivals: int | None


@dataclass(frozen=True, slots=True)
class Prediction:
    """From the drafts that `arm` recorded. error: of tok/s in timed cells that were held out."""

    arm: str
    prompts: int
    depth: int
    topk: int
    notes: tuple[str, ...]
    linear_tokens_per_step: Interval
    best: tuple[Best, ...]
    held_out: int
    median_error: float | None
    worst_error: float | None
    budgets: tuple[int, ...]
    topks: tuple[int, ...]
    panels: tuple[Panel, ...]


def predict(
    folder: Path, launches: Sequence[Launch], results: Sequence[RunResult]
) -> Prediction | str | None:
    """Of the first arm that recorded its drafts; None where none did, or in words why not."""
    arms = [r.trial.arm for r in results if r.trial.server.record_drafts]
    if not arms:
        return None
    try:
        return _predicted(recorded_arm(folder, launches, results, arm=arms[0]), results)
    except DdbenchError as error:
        return f"{error} ({error.remedy})"


def setting_name(speculation: Speculation) -> str:
    """As a sweep names such an arm."""
    if speculation.algorithm is None:
        return "autoregressive"
    if speculation.budget is None:
        return f"linear-{speculation.block_size}"
    return f"tree-{speculation.block_size}-{speculation.budget}-{speculation.topk}"


def _predicted(recorded: RecordedArm, results: Sequence[RunResult]) -> Prediction:
    timed = timed_alike(recorded, results)
    cells = measured_cells(timed.results)
    largest = max([LEAST_BUDGET, *(cell.speculation.budget or 0 for cell in cells)])
    grid = Grid(topks=TOPKS, budgets=tuple(range(1, largest + 1)))
    forecaster = Forecaster(recorded, acceptance(recorded.prompts, grid), cells)
    candidates = {c: forecaster.candidates(c) for c in forecaster.concurrencies}
    errors = [cell.error for cell in forecaster.held_out() if cell.error is not None]
    typical = median(map(abs, errors)) if errors else None
    return Prediction(
        arm=recorded.arm,
        prompts=len(recorded.prompts),
        depth=recorded.depth,
        topk=recorded.topk,
        notes=(*recorded.notes, *timed.notes),
        linear_tokens_per_step=forecaster.linear_per_step(),
        best=tuple(_best(forecaster, candidates, typical)),
        held_out=len(errors),
        median_error=typical,
        worst_error=max(errors, key=abs) if errors else None,
        budgets=grid.budgets,
        topks=grid.topks,
        panels=tuple(panels_of(forecaster, candidates)),
    )


def _best(
    forecaster: Forecaster, candidates: Mapping[int, Sequence[Candidate]], typical: float | None
) -> list[Best]:
    found = {c: recommended(ranked) for c, ranked in candidates.items()}
    return [
        _named(forecaster.forecast(best), candidates[c], typical)
        for c, best in found.items()
        if best is not None
    ]


def _named(forecast: Forecast, ranked: Sequence[Candidate], typical: float | None) -> Best:
    best = forecast.candidate
    close = None
    if typical is not None:
        close = sum(c.tokens_per_s >= best.tokens_per_s * (1.0 - typical) for c in ranked) - 1
    return Best(
        concurrency=best.concurrency,
        setting=setting_name(best.speculation),
        timed=best.timed,
        tokens_per_step=forecast.tokens_per_step,
        tokens_per_s=forecast.tokens_per_s,
        over_linear=forecast.over_linear,
        rivals=close,
    )
