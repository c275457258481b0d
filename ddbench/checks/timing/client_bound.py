from collections.abc import Iterator
from statistics import median

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import CLIENT, REQUESTS, WALL
from ddbench.checks.rule import rule

BUSY = 0.8  # of the one core that the load generator can use
SHARE = 0.05
NOTABLE_S = 0.05


@rule(
    "DDB206",
    "client-bound",
    Severity.WARNING,
    remedy="Give the client a core of its own, or fewer requests, or stream less often.",
    needs=(CLIENT, WALL, REQUESTS),
)
def client_bound(evidence: Evidence) -> Iterator[Outcome]:
    """The load generator was too slow, so latencies are partly its own.

    ## Why it matters
    A client that is late reads tokens late. Speculation sends them in bursts, so the fast arm is
    hit hardest, and the difference between arms shrinks.

    ## How it is computed
    Processor time of the client over 80 % of the wall time (it has one thread); or its event loop
    stood still, or it sent a request late, by more than 50 ms and 5 % of the median answer time.

    ## Example
    Bad: 5.7 s of processor time in 6.0 s.
    Good: 0.4 s in 6.0 s, loop lag 3 ms.
    """
    client, wall_s = evidence.client, evidence.wall_s
    if client is None or not wall_s:
        return
    typical_s = median(r.e2e_s for r in evidence.completed)
    limit_s = max(NOTABLE_S, SHARE * typical_s)
    late_s = max(r.lateness_s for r in evidence.completed)
    if client.cpu_s > BUSY * wall_s:
        yield f"the client used {client.cpu_s:.1f} s of processor time in {wall_s:.1f} s"
    elif client.loop_lag_max_s > limit_s:
        yield (
            f"the client stood still for {client.loop_lag_max_s:.2f} s (answers take "
            f"{typical_s:.2f} s)"
        )
    elif late_s > limit_s:
        yield f"a request was sent {late_s:.2f} s late (answers take {typical_s:.2f} s)"
