"""A prediction as tables and sentences, or as JSON."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from ddbench.cli.consoles import PIPED_COLUMNS
from ddbench.errors import RunError
from ddbench.predict.acceptance import acceptance
from ddbench.predict.forecast import Candidate, Forecast, Forecaster, HeldOut, recommended
from ddbench.predict.next_sweep import next_sweep, settings_to_measure
from ddbench.predict.recorded import RecordedArm
from ddbench.predict.replay import Grid
from ddbench.predict.step_time import measured_cells
from ddbench.predict.timed import timed_alike
from ddbench.predict.validation import ALLOWED_TIES, TIE_NATS, ArmValidation, notes, passes
from ddbench.records import RunResult, Speculation
from ddbench.report.heat_map import heat_map
from ddbench.report.numbers import BY_DEFINITION, MS_PER_S, interval_text
from ddbench.report.prediction import setting_name
from ddbench.stats.interval import Interval
from ddbench.stats.service_level import Limit

ROWS = 5
"""The fastest settings of each concurrency that are shown."""

SHOWN_BUDGETS = (7, 15, 31, 63, 128)
SHOWN_TOPKS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Asked:
    budgets: tuple[int, ...]
    topks: tuple[int, ...]
    concurrencies: tuple[int, ...] | None  # None: all that were timed
    limits: tuple[Limit, ...]


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write; they must not exist. None: do not."""

    next_sweep: Path | None = None
    heat_map: Path | None = None


def show_prediction(
    recorded: RecordedArm,
    results: Sequence[RunResult],
    asked: Asked,
    *,
    plan_text: str,
    outputs: Outputs,
    as_json: bool,
) -> None:
    """Print it, and write the next sweep where one is asked for.

    Raises RunError for a concurrency that the run did not time, or an output that exists.
    """
    for path in (outputs.next_sweep, outputs.heat_map):
        if path is not None and path.exists():
            raise RunError(f"{path} exists", remedy="Give a file that does not exist yet.")
    timed = timed_alike(recorded, results)
    forecaster = Forecaster(
        recorded,
        acceptance(recorded.prompts, Grid(asked.topks, asked.budgets)),
        measured_cells(timed.results),
    )
    candidates = {c: forecaster.candidates(c) for c in _concurrencies(forecaster, asked)}
    held_out = forecaster.held_out()
    wanted = settings_to_measure(forecaster, candidates)
    if as_json:
        typer.echo(_json(forecaster, candidates, held_out, wanted, asked, timed.notes))
    else:
        console = _console()
        console.print(_acceptance_table(forecaster))
        console.print()
        if not candidates:
            console.print("Nothing was timed beside the recording: speeds are not known.")
        for concurrency, ranked in candidates.items():
            typical_error = _typical(held_out)
            console.print(_table(forecaster, concurrency, ranked, asked, typical_error))
            for line in _verdict(forecaster, concurrency, ranked, asked, typical_error):
                console.print(line)
            console.print()
        for line in (
            *timed.notes,
            *_held_out_lines(held_out),
            *_repeats_line(forecaster),
            *_to_measure(wanted),
            *_how_to_read(forecaster),
        ):
            console.print(line)
    if outputs.next_sweep is not None:
        outputs.next_sweep.write_text(next_sweep(plan_text, wanted), encoding="utf-8")
        typer.echo(f"wrote {outputs.next_sweep}", err=True)
    if outputs.heat_map is not None:
        outputs.heat_map.write_text(heat_map(forecaster, candidates), encoding="utf-8")
        typer.echo(f"wrote {outputs.heat_map}", err=True)


def show_validation(recorded: RecordedArm, arms: Sequence[ArmValidation]) -> None:
    """One line an arm, every difference with its tie, and what is not determined."""
    table = Table(
        "arm", "requests", "predicted steps", "measured steps", "differ", box=None, pad_edge=False
    )
    for arm in arms:
        table.add_row(
            arm.arm,
            str(arm.compared),
            str(arm.predicted_steps),
            str(arm.measured_steps),
            str(len(arm.differences)),
        )
    console = _console()
    console.print(table)
    for arm in arms:
        for d in arm.differences:
            cause = "a tie" if d.is_tie else "no tie: the replay and this server disagree"
            console.print(
                f"{d.arm}, concurrency {d.concurrency}, {d.prompt_id}: predicted {d.predicted} "
                f"steps, measured {d.measured}; closest tie {d.gap:.1e} nats, at output token "
                f"{d.position} ({cause})"
            )
    for note in notes(arms):
        console.print(note)
    compared = sum(arm.compared for arm in arms)
    console.print(
        f"{compared} requests of {len(arms)} arms against {len(recorded.prompts)} recorded "
        f"answers: {'passed' if passes(arms) else 'failed'}. Allowed are ties below {TIE_NATS:g} "
        f"nats, in at most {ALLOWED_TIES:.1%} of the requests."
    )
    console.print(
        "Not determined: how deep the last step of an answer would have gone behind its end."
    )


def _console() -> Console:
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(width=PIPED_COLUMNS, soft_wrap=True, highlight=False)


def _concurrencies(forecaster: Forecaster, asked: Asked) -> Sequence[int]:
    timed = forecaster.concurrencies
    if asked.concurrencies is None:
        return timed
    if missing := [c for c in asked.concurrencies if c not in timed]:
        raise RunError(
            f"nothing was timed at concurrency {missing[0]}, and ddbench does not extrapolate",
            remedy=f"Ask for {', '.join(map(str, timed)) or 'none'}, or run a sweep at "
            f"{missing[0]}.",
        )
    return asked.concurrencies


def _acceptance_table(forecaster: Forecaster) -> Table:
    """Tokens a step of some of the grid, every one with its interval."""
    grid = forecaster.acceptance.grid
    budgets = _some(grid.budgets, SHOWN_BUDGETS)
    table = Table(
        "tokens/step",
        *(f"budget {budget}" for budget in budgets),
        title="acceptance, whatever the concurrency",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    table.add_row(f"linear-{forecaster.recorded.depth + 1}", _plain(forecaster.linear_per_step()))
    fillable = set(forecaster.trees())
    for topk in _some(grid.topks, SHOWN_TOPKS):
        cells = [
            _plain(forecaster.tree_per_step(budget, topk)) if (budget, topk) in fillable else "-"
            for budget in budgets
        ]
        table.add_row(f"topk {topk}", *cells)
    return table


def _some(asked: Sequence[int], usual: Sequence[int]) -> Sequence[int]:
    """All, where they are few; else the usual ones among them, and the last."""
    if len(asked) <= len(usual):
        return asked
    return sorted({*(number for number in usual if number in asked), asked[-1]})


def _plain(interval: Interval) -> str:
    return interval_text(interval).rpartition(" n=")[0]


def _table(
    forecaster: Forecaster,
    concurrency: int,
    ranked: Sequence[Candidate],
    asked: Asked,
    typical_error: float | None,
) -> Table:
    table = Table(
        "setting",
        "tokens/step",
        "step ms",
        "tok/s",
        "over linear",
        "TPOT ms",
        "step time, error",
        title=f"concurrency {concurrency}",
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    fastest = _without_twins(ranked)
    kept = recommended(ranked, asked.limits)
    shown = fastest + [
        candidate
        for candidate in ranked
        if candidate not in fastest and (candidate.speculation.budget is None or candidate is kept)
    ]
    for candidate in shown:
        forecast = forecaster.forecast(candidate)
        table.add_row(
            setting_name(candidate.speculation) + (" *" if candidate is kept else ""),
            _tokens_per_step(forecast),
            f"{candidate.cost.step_s * MS_PER_S:.1f}",
            interval_text(forecast.tokens_per_s),
            interval_text(forecast.over_linear, units="x"),
            f"{candidate.tpot_s * MS_PER_S:.1f}",
            "measured" if candidate.timed else _interpolated(typical_error),
        )
    return table


def _interpolated(typical_error: float | None) -> str:
    return f"interpolated, {'?' if typical_error is None else f'{typical_error:.1%}'}"


def _tokens_per_step(forecast: Forecast) -> str:
    if forecast.candidate.speculation.algorithm is None:
        return BY_DEFINITION
    uncertain = " ?" if forecast.candidate.cut_share else ""
    return interval_text(forecast.tokens_per_step) + uncertain


def _without_twins(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The fastest ROWS; of trees that differ in a topk that changes nothing, the first."""
    shown: dict[tuple[int | None, int], Candidate] = {}
    for candidate in ranked:
        key = candidate.speculation.budget, int(candidate.steps.sum())
        if len(shown) < ROWS:
            shown.setdefault(key, candidate)
    return list(shown.values())


def _verdict(
    forecaster: Forecaster,
    concurrency: int,
    ranked: Sequence[Candidate],
    asked: Asked,
    typical_error: float | None,
) -> Iterator[str]:
    best = recommended(ranked, asked.limits)
    if best is None:
        level = ", ".join(map(str, asked.limits))
        yield f"Concurrency {concurrency}: no setting is predicted to keep {level}."
    else:
        gain = forecaster.forecast(best).over_linear
        against = "" if gain is None else f", {interval_text(gain, units='x')} linear"
        yield (
            f"Recommended at {concurrency} (*): {setting_name(best.speculation)}, "
            f"{best.tokens_per_s:.0f} tok/s{against}."
        )
        if best.timed is None and typical_error is not None:
            close = sum(c.tokens_per_s >= best.tokens_per_s * (1 - typical_error) for c in ranked)
            yield (
                f"Its step time is interpolated: {close - 1} other settings are within the "
                f"{typical_error:.1%} that held-out cells were off by, in the median."
            )
    for why, count in forecaster.refusals(concurrency).items():
        yield f"Not predicted: {count} settings ({why})."


def _typical(held_out: Sequence[HeldOut]) -> float | None:
    errors = [abs(cell.error) for cell in held_out if cell.error is not None]
    return median(errors) if errors else None


def _held_out_lines(held_out: Sequence[HeldOut]) -> Iterator[str]:
    errors = [cell.error for cell in held_out if cell.error is not None]
    ends = len(held_out) - len(errors)
    if not errors:
        yield (
            f"Error on held-out cells: not known. {ends} timed tree cells, none between two others "
            "of its concurrency."
        )
        return
    worst = max(errors, key=abs)
    yield (
        f"Error on held-out cells: median {median(map(abs, errors)):.1%}, worst {worst:+.1%}, of "
        f"{len(errors)} timed tree cells predicted from the others; {ends} at the ends of the "
        "widths cannot be held out."
    )


def _repeats_line(forecaster: Forecaster) -> Iterator[str]:
    """No prediction can be better than what it is held against."""
    spreads = [cell.spread for cell in forecaster.cells if cell.spread is not None]
    if spreads:
        yield (
            f"Timed cells themselves: their repeats differ by {median(spreads):.1%} in the median, "
            f"{max(spreads):.1%} at worst."
        )


def _to_measure(wanted: Sequence[Speculation]) -> Iterator[str]:
    if wanted:
        yield f"To be sure, measure: {', '.join(map(setting_name, wanted))} (--write-sweep FILE)."


def _how_to_read(forecaster: Forecaster) -> Iterator[str]:
    recorded = forecaster.recorded
    yield (
        f"Acceptance: {len(recorded.prompts)} answers replayed from drafts recorded by "
        f"{recorded.arm}, {recorded.topk} candidates at {recorded.depth} depths; exact at "
        "temperature 0 up to ties. Brackets: the choice of prompts, not the error of step times."
    )
    if forecaster.acceptance.cut_steps.any():
        yield (
            f"?: topk above the {recorded.topk} candidates recorded, and some tree reached the "
            "last of them: the setting might do better or worse."
        )


def _json(
    forecaster: Forecaster,
    candidates: Mapping[int, Sequence[Candidate]],
    held_out: Sequence[HeldOut],
    wanted: Sequence[Speculation],
    asked: Asked,
    timed_notes: Sequence[str],
) -> str:
    """Every candidate's point values, the shown ones' intervals, the errors, what to measure."""
    data = {
        "recorded": {
            "arm": forecaster.recorded.arm,
            "prompts": len(forecaster.recorded.prompts),
            "depth": forecaster.recorded.depth,
            "topk": forecaster.recorded.topk,
            "notes": forecaster.recorded.notes,
        },
        "timed": {"notes": timed_notes},
        "concurrencies": {
            str(concurrency): _concurrency_json(forecaster, concurrency, ranked, asked)
            for concurrency, ranked in candidates.items()
        },
        "held_out": [
            {
                "arm": one.cell.arm,
                "concurrency": one.cell.concurrency,
                "width": one.cell.width,
                "measured_tokens_per_s": one.cell.tokens_per_s,
                "predicted_tokens_per_s": one.predicted_tokens_per_s,
                "error": one.error,
            }
            for one in held_out
        ],
        "measure": [asdict(setting) for setting in wanted],
    }
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def _concurrency_json(
    forecaster: Forecaster, concurrency: int, ranked: Sequence[Candidate], asked: Asked
) -> dict[str, Any]:
    best = recommended(ranked, asked.limits)
    return {
        "recommended": None if best is None else _forecast_json(forecaster.forecast(best)),
        "settings": [_candidate_json(candidate) for candidate in ranked],
        "not_predicted": forecaster.refusals(concurrency),
    }


def _candidate_json(candidate: Candidate) -> dict[str, Any]:
    return {
        "setting": setting_name(candidate.speculation),
        **asdict(candidate.speculation),
        "timed": candidate.timed,
        "verify_steps": int(candidate.steps.sum()),
        "step_s": candidate.cost.step_s,
        "tokens_per_s": candidate.tokens_per_s,
        "tpot_s": candidate.tpot_s,
        "cut_share": candidate.cut_share,
    }


def _forecast_json(forecast: Forecast) -> dict[str, Any]:
    over_linear = forecast.over_linear
    return {
        **_candidate_json(forecast.candidate),
        "tokens_per_step": asdict(forecast.tokens_per_step),
        "tokens_per_s_interval": asdict(forecast.tokens_per_s),
        "over_linear": None if over_linear is None else asdict(over_linear),
    }
