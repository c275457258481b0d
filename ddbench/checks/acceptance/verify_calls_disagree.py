from collections.abc import Iterator

from ddbench.checks.counter_deltas import gained
from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import VERIFY_COUNTS
from ddbench.checks.rule import Need, rule

COUNTER: Need[Evidence] = Need(
    "the counter spec_verify_calls (--enable-metrics)",
    lambda e: gained(e, "spec_verify_calls") is not None,
)


@rule(
    "DDB114",
    "verify-calls-disagree",
    Severity.ERROR,
    remedy="Make sure nobody else used the server, and that counters are read after the warm-up.",
    needs=(VERIFY_COUNTS, COUNTER),
)
def verify_calls_disagree(evidence: Evidence) -> Iterator[Outcome]:
    """The server's counter of verify steps must gain what the answers report.

    ## Why it matters
    A surplus means that warm-up, health checks or another client are inside the measurement, so
    every figure from counters is mixed. A deficit means that the server counts a step twice in its
    answers, or lost its counters.

    ## How it is computed
    spec_verify_calls_total after - before, against sum(spec_verify_ct) of the completed requests.
    Equal, or above by up to one step for each completed request (overlap scheduling runs one more
    step after the last token). With failed requests, whose steps have no answer, only a deficit
    counts.

    ## Example
    Bad: the counter gained 296 and the answers hold 195: requests of a warm-up are included.
    Good: 195 and 195.
    """
    counted = gained(evidence, "spec_verify_calls")
    answered = sum(r.verify_ct or 0 for r in evidence.completed)
    if counted is None:
        return
    overrun = len(evidence.completed)
    if counted < answered or (counted > answered + overrun and not evidence.failed):
        yield (
            f"spec_verify_calls gained {counted:.0f} and the {len(evidence.completed)} answers "
            f"hold {answered} verify steps"
        )
