from collections.abc import Iterator
from statistics import fmean

from ddbench.checks.counter_deltas import gained
from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.rule import Need, rule

SHARE = 0.2

QUEUE: Need[Evidence] = Need(
    "log windows with #queue-req, or answers with retractions",
    lambda e: (
        any(w.queued_requests is not None for w in e.windows)
        or any(r.retractions is not None for r in e.completed)
    ),
)


@rule(
    "DDB205",
    "requests-queued",
    Severity.WARNING,
    remedy="Raise --max-running-requests or the KV pool, or lower the concurrency.",
    needs=(QUEUE,),
)
def requests_queued(evidence: Evidence) -> Iterator[Outcome]:
    """Requests waited inside the server, or were thrown out of a full cache and started again.

    ## Why it matters
    Waiting requests count in latency and not in the batch, so the trial ran at a smaller
    concurrency than it says. A tree keeps a slot for every node, so its arm may run out of cache
    where the line does not; retracted requests do their work twice.

    ## How it is computed
    #queue-req above 0 in more than 20 % of the windows and 1 or more on average; or any retraction,
    from the answers or from the server's counter.

    ## Example
    Bad: 5.2 requests queued on average.
    Good: a request queued in 3 of 120 windows.
    """
    queued = [w.queued_requests for w in evidence.windows if w.queued_requests is not None]
    waiting = sum(value > 0 for value in queued)
    if queued and waiting > SHARE * len(queued) and fmean(queued) >= 1.0:
        yield (
            f"{fmean(queued):.1f} requests queued on average, in {waiting} of {len(queued)} windows"
        )
    retracted = sum(r.retractions or 0 for r in evidence.completed)
    counted = gained(evidence, "retracted_requests") or 0.0
    if retracted or counted > 0:
        yield f"{max(retracted, counted):.0f} retractions: the KV cache was full"
