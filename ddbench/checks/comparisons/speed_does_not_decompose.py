from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from ddbench.checks.cells import Cell, cells_of, matched
from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.limits import STAMP_UNIT_S, log_interval
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule
from ddbench.checks.steady_stretches import steady_stretches

SHARE = 0.03
SHORTEST_S = 10 * STAMP_UNIT_S


@dataclass(frozen=True, slots=True)
class _Speed:
    """Of one cell at its full batch: printed throughput, tokens a step, seconds a step."""

    running: int
    tokens_per_s: float
    tokens_per_step: float
    step_s: float
    doubt: float  # relative, of step_s: stamps are whole seconds


@rule(
    "DDB412",
    "speed-does-not-decompose",
    Severity.WARNING,
    remedy="Check that throughput, acceptance and step time of each arm are of the same windows.",
    needs=(SEVERAL_RUNS,),
)
def speed_does_not_decompose(comparison: Comparison) -> Iterator[Outcome]:
    """The ratio of two speeds is the ratio of tokens per step times that of steps per second.

    ## Why it matters
    This is the only way to say *why* an arm is faster. If the three ratios do not fit, a depth was
    reported as tokens per step, or the numbers come from different windows, and the explanation is
    worthless.

    ## How it is computed
    For two arms at the same conditions and the same number running: throughput printed in steady
    windows, tokens per step from the answers, and step time from the log's stamps over steady
    windows and --decode-log-interval. tps_b/tps_a = (tau_b/tau_a) * (t_a/t_b) within 3 % and the
    second that stamps are rounded to; needs ten seconds of steady windows in both.

    ## Example
    Bad: speed 1.40 times, tokens per step 2.33 times, step time 1.25 times: 1.86 expected.
    Good: speed 1.40, tokens per step 1.75, step time 1.25.
    """
    compared = False
    for a, b in matched(cells_of(comparison)):
        mine, theirs = _speed(a), _speed(b)
        if mine is None or theirs is None or mine.running != theirs.running:
            continue
        compared = True
        speed = theirs.tokens_per_s / mine.tokens_per_s
        tokens = theirs.tokens_per_step / mine.tokens_per_step
        step = theirs.step_s / mine.step_s
        slack = SHARE + mine.doubt + theirs.doubt
        if abs(speed / (tokens / step) - 1.0) > slack:
            yield Found(
                f"{b.arm} has {speed:.2f} times the throughput of {a.arm}, {tokens:.2f} times its "
                f"tokens a step and {step:.2f} times its step time: {tokens / step:.2f} expected",
                subject=f"{a.name} and {b.arm}",
            )
    if not compared:
        yield Lacks("two arms with ten seconds of steady windows at one number running")


def _speed(cell: Cell) -> _Speed | None:
    tokens = 1.0 if cell.is_autoregressive else cell.tokens_per_step
    best: _Speed | None = None
    for run in cell.runs:
        if tokens is None or (interval := log_interval(run)) is None:
            return None
        for stretch in steady_stretches(run):
            if stretch.stamped_s < SHORTEST_S:
                continue
            if best is None or stretch.running > best.running:
                best = _Speed(
                    running=stretch.running,
                    tokens_per_s=_throughput(run, stretch.running),
                    tokens_per_step=tokens,
                    step_s=stretch.stamped_s / (interval * stretch.windows),
                    doubt=STAMP_UNIT_S / stretch.stamped_s,
                )
    return best


def _throughput(run: Evidence, running: int) -> float:
    return fmean(
        w.throughput_tokens_per_s
        for w in run.windows[1:]
        if w.throughput_tokens_per_s and w.running_requests == running
    )
