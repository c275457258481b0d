"""The order in which a report is read: findings, the answer, then the tables it rests on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ddbench.report.acceptance_sections import SURVIVAL
from ddbench.report.comparison import sections as comparison_sections
from ddbench.report.content import Report
from ddbench.report.drafter_sections import drafter_sections
from ddbench.report.drawings import (
    decomposition_figures,
    heat_map_figure,
    result_figures,
    survival_figures,
)
from ddbench.report.failures import failure_sections
from ddbench.report.findings import counts_text, findings_sections
from ddbench.report.notes import EMBEDDED
from ddbench.report.numbers import BY_DEFINITION, MS_PER_S, load_header, load_text
from ddbench.report.prediction import Prediction
from ddbench.report.sections import (
    Cell,
    Chapter,
    Figure,
    Measured,
    Said,
    Section,
    Sentence,
    Told,
    Words,
)
from ddbench.report.slo_sections import slo_section
from ddbench.report.speedups import Speedup
from ddbench.report.summary import Row
from ddbench.report.where import where_sections

_METHODS = (
    "Brackets hold 95 % intervals; n counts what is independent: prompts (repeats of one are not) "
    "for tokens/step, TPOT and TTFT, trials for the others, and for tok/s visits, or hosts, where "
    "there are several. Fewer prompts than an interval can honestly be had from (40, 64 for a "
    "share, and 6 for a median) give a number without one.",
    "tokens/step = sum(completion tokens - 1 - retractions) / sum(verify steps). "
    "tok/s = completion tokens of a trial / (last byte - first send). "
    "TPOT = mean over requests of (E2E - TTFT) / (tokens - 1). "
    "Achieved concurrency: request-seconds in flight between first and last send over that span; "
    "occupancy: sum of E2E over the whole trial, tail included.",
    "Methods: tokens/step, TPOT and their ratios by a log jackknife over prompts; tok/s, a "
    "geometric mean, by Student's t on logarithms, achieved concurrency and occupancy by Student's "
    "t over trials; the TTFT median by interpolated order statistics.",
)
_SPEEDUP_METHOD = (
    "tok/s: ratio of trials paired by repeat, with the noise of running again (n pairs), or of "
    "launching again (n visits) or of other hosts (n hosts) where there are several. "
    "Request rate: ratio of sum(tokens) / sum(E2E), paired by prompt, with the choice of prompts "
    "(n prompts). Above 1 the arm is better. An arm is held only against one with the same "
    "weights, flags and environment, and against a linear one only of the same block size. No "
    "ratio of times where requests failed, the asked concurrency was not achieved, or the client "
    "was late."
)
_PREDICTION_METHOD = (
    "Acceptance is replayed from the recorded drafts, exact at temperature 0 up to ties. Step "
    "times are those of timed arms, or interpolated between their widths. Brackets: the choice of "
    "prompts, not the error of step times. `ddbench predict RUN` has every setting."
)


def headline(report: Report) -> Sentence:
    """When, what and how much, in one line."""
    parts: list[Sentence] = []
    if report.first_trial_at is not None and report.last_trial_at is not None:
        parts.append(
            ("first trial ", Said(report.first_trial_at), ", last ", Said(report.last_trial_at))
        )
    for load in report.loads:
        asked = (
            f", at most {load.max_new_tokens} new tokens, temperature {load.temperature:g}, "
            f"seed {load.seed}"
        )
        parts.append((f"{load.count} prompts of ", Said(load.prompts), asked))
    launches = f"{report.launches} launch{'' if report.launches == 1 else 'es'}"
    parts.append((f"{launches}, {report.trials} trial{'' if report.trials == 1 else 's'}",))
    joined = [word for part in parts for word in ("; ", *part)][1:]
    return (*joined, ".")


def engine_note(report: Report) -> str | None:
    return EMBEDDED if report.on_embedded_engine else None


def chapters(report: Report) -> Iterator[Chapter]:
    """Those that have something to say, in reading order."""
    yield Chapter(
        "findings",
        "Findings",
        (f"{counts_text(report.findings).capitalize()}.",),
        tuple(findings_sections(report.findings, report.lacking)),
    )
    yield Chapter("answer", "Answer", report.answer)
    if report.failed or report.failed_requests:
        counts: Sentence = (f"{report.failure_counts}.",) if report.failure_counts else ()
        found = tuple(failure_sections(report.failed, report.failed_requests))
        yield Chapter("failures", "What failed", counts, found)
    if not report.rows:
        yield Chapter("results", "Results", ("Nothing was measured.",))
        return
    if report.levels:
        level = replace(slo_section(report.levels), title="")
        yield Chapter("level", "Under the service level", (), (level,))
    yield Chapter("results", "Results", (), (_results(report.rows),))
    yield _speedups(report.speedups)
    if report.comparison is not None or report.not_compared is not None:
        yield _comparison(report)
    if report.drafters:
        found = tuple(_retitled(one) for one in drafter_sections(report.drafters))
        yield Chapter("drafters", "Drafters", (), found)
    if report.prediction is not None or report.not_predicted is not None:
        yield _prediction(report)
    yield Chapter("where", "What ran where", (), tuple(where_sections(report.where)))
    notes = tuple((note,) for note in (*report.notes, *_METHODS))
    yield Chapter("reading", "How to read this", (), (Section("", notes),))


def _results(rows: Sequence[Row]) -> Section:
    return Section(
        "",
        header=(load_header(row.rate_per_s for row in rows), *_RESULT_HEADER),
        rows=tuple(map(_result_cells, rows)),
        figures=tuple(result_figures(rows)),
    )


_RESULT_HEADER = (
    "arm",
    "tokens/step",
    "tok/s",
    "TPOT ms",
    "TTFT median ms",
    "achieved",
    "occupancy",
    "trials",
    "requests",
    "failed",
)


def _result_cells(row: Row) -> tuple[Cell, ...]:
    by_definition = row.speculation.algorithm is None
    return (
        load_text(row.concurrency, row.rate_per_s),
        Said(row.arm),
        BY_DEFINITION if by_definition else Measured(row.tokens_per_step),
        Measured(row.tokens_per_s),
        Measured(row.tpot_s, scale=MS_PER_S),
        Measured(row.ttft_median_s, scale=MS_PER_S),
        Measured(row.achieved_concurrency),
        Measured(row.occupancy),
        str(row.trials),
        str(row.completed),
        str(row.failed_requests),
    )


def _speedups(found: Sequence[Speedup]) -> Chapter:
    load = load_header(speedup.rate_per_s for speedup in found)
    title = f"Speedup at the same {load}"
    if not found:
        none = "No arm ran beside a linear or autoregressive one under the same conditions."
        return Chapter("speedups", title, (none,))
    table = Section(
        "",
        header=(
            load,
            *("arm", "over", "tok/s", "request rate", "tokens/step"),
        ),
        rows=tuple(
            (
                load_text(speedup.concurrency, speedup.rate_per_s),
                Said(speedup.arm),
                Said(speedup.reference),
                Measured(speedup.tokens_per_s, units="x"),
                Measured(speedup.request_rate, units="x"),
                Measured(speedup.tokens_per_step, units="x"),
            )
            for speedup in found
        ),
        after=((_SPEEDUP_METHOD,),),
    )
    return Chapter("speedups", title, (), (table,))


def _comparison(report: Report) -> Chapter:
    title = "Linear against tree"
    if report.comparison is None:
        return Chapter("comparison", title, ("Not compared: ", Told(report.not_compared or "")))
    found = comparison_sections(
        report.comparison, drafters=None if report.drafters else (), is_alone=False
    )
    drawn: dict[str, tuple[Figure, ...]] = {
        "Why": tuple(decomposition_figures(report.comparison)),
        SURVIVAL: tuple(survival_figures(report.comparison, report.rows)),
    }
    placed = [replace(_retitled(one), figures=drawn.get(one.title, ())) for one in found]
    return Chapter("comparison", title, (), tuple(placed))


def _retitled(section: Section) -> Section:
    """Below a chapter's heading some titles would say the same again."""
    titles = {"Answer": "What was found", "Drafter": "Verdicts"}
    return replace(section, title=titles.get(section.title, section.title))


def _prediction(report: Report) -> Chapter:
    title = "Predicted settings"
    if report.prediction is None:
        return Chapter("prediction", title, ("Not predicted: ", Told(report.not_predicted or "")))
    found = report.prediction
    said: Sentence = (
        f"{found.prompts} answers replayed from the drafts that ",
        Said(found.arm),
        f" recorded, {found.topk} candidates at {found.depth} depths. Linear, replayed: ",
        Measured(found.linear_tokens_per_step),
        f" tokens/step. {_error(found)}",
    )
    table = Section(
        "",
        tuple((Told(note),) for note in found.notes),
        header=("concurrency", "most tok/s", "step time", "tokens/step", "tok/s", "over linear"),
        rows=tuple(
            (
                str(best.concurrency),
                Said(best.setting),
                _step_time(best.timed, best.rivals),
                BY_DEFINITION
                if best.setting == "autoregressive"
                else Measured(best.tokens_per_step),
                Measured(best.tokens_per_s),
                Measured(best.over_linear, units="x"),
            )
            for best in found.best
        ),
        after=((_PREDICTION_METHOD,),),
        figures=(heat_map_figure(found),),
    )
    return Chapter("prediction", title, said, (table,))


def _step_time(timed: str | None, rivals: int | None) -> Words:
    if timed is not None:
        return "measured"
    if rivals is None:
        return "interpolated, error not known"
    return f"interpolated, {rivals} other settings within its error"


def _error(found: Prediction) -> str:
    if found.median_error is None or found.worst_error is None:
        return "Error of predicted tok/s: not known, as no timed tree lies between two others."
    return (
        f"Predicted tok/s of {found.held_out} held-out cells were off by {found.median_error:.1%} "
        f"in the median, {found.worst_error:+.1%} at worst."
    )
