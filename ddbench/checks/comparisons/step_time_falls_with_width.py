from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, variance

from ddbench.checks.cells import Cell, cells_of, drift_unknown, matched
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.limits import log_interval
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

SHARE = 0.02
ERRORS = 3.0
FEWEST_WINDOWS = 10


@dataclass(frozen=True, slots=True)
class _StepTime:
    mean_s: float  # up to the common factor of the log interval
    error_s: float
    windows: int


@rule(
    "DDB413",
    "step-time-falls-with-width",
    Severity.WARNING,
    remedy="Look whether the slower, narrower arm ran without graphs or in another graph bucket.",
    needs=(SEVERAL_RUNS,),
)
def step_time_falls_with_width(comparison: Comparison) -> Iterator[Outcome]:
    """A step that verifies more tokens does not take less time.

    ## Why it matters
    When it does, the narrower arm ran eagerly, in a graph captured for a larger batch, or beside a
    neighbour, and the comparison is about that.

    ## How it is computed
    Step time of a window = running * accept len / throughput (times the log interval), over windows
    with as many running as the concurrency, without the first; at least ten in each arm. For two
    drafting arms at the same conditions with verify widths W1 < W2: fires when the mean falls by
    over 2 % and 3 standard errors. A note where an arm was launched once: the error within a launch
    does not hold what changed on the machine until the next.

    ## Example
    Bad: 31.0 ms at width 8 and 24.2 ms at width 32.
    Good: 24.2 ms and 25.1 ms.
    """
    compared = False
    for a, b in matched(cells_of(comparison)):
        widths = a.speculation.verify_width, b.speculation.verify_width
        if None in widths or widths[0] == widths[1] or a.is_autoregressive or b.is_autoregressive:
            continue
        narrow, wide = sorted((a, b), key=lambda cell: cell.speculation.verify_width or 0)
        before, after = _step_time(narrow), _step_time(wide)
        if before is None or after is None:
            continue
        compared = True
        fall = before.mean_s - after.mean_s
        error = sqrt(before.error_s**2 + after.error_s**2)
        if fall > SHARE * before.mean_s and fall > ERRORS * error:
            yield Found(
                f"a step takes {1e3 * before.mean_s:.2f} ms at width "
                f"{narrow.speculation.verify_width} and {1e3 * after.mean_s:.2f} ms at "
                f"{wide.speculation.verify_width}",
                subject=f"{narrow.name} and {wide.arm}",
                severity=drift_unknown(narrow, wide),
            )
    if not compared:
        yield Lacks(f"two drafting arms with {FEWEST_WINDOWS} windows each at the full concurrency")


def _step_time(cell: Cell) -> _StepTime | None:
    times = []
    for run in cell.runs:
        if log_interval(run) is None:
            return None
        times += [
            w.running_requests * w.accept_len_logged / w.throughput_tokens_per_s
            for w in run.windows[1:]
            if w.running_requests == cell.conditions.concurrency
            and w.running_requests
            and w.accept_len_logged
            and w.throughput_tokens_per_s
        ]
    if len(times) < FEWEST_WINDOWS:
        return None
    return _StepTime(fmean(times), sqrt(variance(times) / len(times)), len(times))
