"""`ddbench report markdown`: what ran where, what failed, the table, the speedups."""

from collections.abc import Iterator, Sequence

from ddbench.records import Launch, RunResult
from ddbench.report.failures import what_failed
from ddbench.report.gfm import code, table
from ddbench.report.notes import EMBEDDED, caveats, failure_counts, runs_on_the_embedded_engine
from ddbench.report.numbers import BY_DEFINITION, MS_PER_S, interval_text
from ddbench.report.speedups import Speedup, speedups
from ddbench.report.summary import Row, summarise
from ddbench.report.where import where_it_ran

_METHODS = (
    "Brackets hold 95 % intervals; n counts what is independent: prompts (repeats of one are not) "
    "for tokens/step, TPOT and TTFT, trials for the others. Fewer prompts than an interval can "
    "honestly be had from (40, and 6 for a median) give a number without one.",
    "tokens/step = sum(completion tokens - 1 - retractions) / sum(verify steps). "
    "tok/s = completion tokens of a trial / (last byte - first send). "
    "TPOT = mean over requests of (E2E - TTFT) / (tokens - 1). "
    "Achieved concurrency: request-seconds in flight between first and last send over that span; "
    "occupancy: sum of E2E over the whole trial, tail included.",
    "Methods: tokens/step, TPOT and their ratios by a log jackknife over prompts; tok/s, achieved "
    "concurrency and occupancy by Student's t over trials; the TTFT median by order statistics.",
)

_SPEEDUP_METHOD = (
    "tok/s: ratio of trials paired by repeat, with the noise of running again (n pairs). "
    "Request rate: ratio of sum(tokens) / sum(E2E), paired by prompt, with the choice of prompts "
    "(n prompts). Above 1 the arm is better. An arm is held only against one with the same "
    "weights, flags and environment, and against a linear one only of the same block size."
)


def render_markdown(name: str, launches: Sequence[Launch], results: Sequence[RunResult]) -> str:
    """The report of the run called `name`, ending in a newline; renders on GitHub."""
    return "\n\n".join(_paragraphs(name, launches, results)) + "\n"


def _paragraphs(
    name: str, launches: Sequence[Launch], results: Sequence[RunResult]
) -> Iterator[str]:
    rows = summarise(results)
    yield f"# ddbench: {code(name)}"
    yield _headline(launches, results)
    if failed := what_failed(launches, results):
        yield "## What failed"
        if counts := failure_counts(rows):
            yield f"{counts}."
        yield from failed
    yield "## Results"
    if not rows:
        yield "Nothing was measured."
        return
    yield table(_RESULT_HEADER, [_result_cells(row) for row in rows])
    yield from _speedup_section(speedups(results))
    yield "## What ran where"
    yield from where_it_ran(launches, results)
    yield "## How to read this"
    yield "\n".join(f"- {note}" for note in [*caveats(launches, results), *_METHODS])


def _headline(launches: Sequence[Launch], results: Sequence[RunResult]) -> str:
    moments = sorted(result.started_at for result in results)
    parts = [f"**{EMBEDDED}**"] if runs_on_the_embedded_engine(launches, results) else []
    if moments:
        parts.append(f"first trial {code(moments[0])}, last {code(moments[-1])}")
    loads = {(r.trial.load.prompts, r.trial.load.count): r.trial.load for r in results}
    for load in loads.values():
        parts.append(
            f"{load.count} prompts of {code(load.prompts)}, at most {load.max_new_tokens} new "
            f"tokens, temperature {load.temperature:g}, seed {load.seed}"
        )
    parts.append(f"{len(launches)} launches, {len(results)} trials")
    return "; ".join(parts) + "."


_RESULT_HEADER = (
    "concurrency",
    "arm",
    "achieved",
    "occupancy",
    "trials",
    "requests",
    "failed",
    "tokens/step",
    "tok/s",
    "TPOT ms",
    "TTFT median ms",
)


def _result_cells(row: Row) -> list[str]:
    by_definition = row.speculation.algorithm is None
    return [
        str(row.concurrency),
        code(row.arm),
        interval_text(row.achieved_concurrency),
        interval_text(row.occupancy),
        str(row.trials),
        str(row.completed),
        str(row.failed_requests),
        BY_DEFINITION if by_definition else interval_text(row.tokens_per_step),
        interval_text(row.tokens_per_s),
        interval_text(row.tpot_s, scale=MS_PER_S),
        interval_text(row.ttft_median_s, scale=MS_PER_S),
    ]


def _speedup_section(found: Sequence[Speedup]) -> Iterator[str]:
    yield "## Speedup at the same concurrency"
    if not found:
        yield "No arm ran beside a linear or autoregressive one under the same conditions."
        return
    yield table(
        ("concurrency", "arm", "over", "tok/s", "request rate", "tokens/step"),
        [
            [
                str(speedup.concurrency),
                code(speedup.arm),
                code(speedup.reference),
                interval_text(speedup.tokens_per_s, units="x"),
                interval_text(speedup.request_rate, units="x"),
                interval_text(speedup.tokens_per_step, units="x"),
            ]
            for speedup in found
        ],
    )
    yield _SPEEDUP_METHOD
