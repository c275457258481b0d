from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import STAMP_UNIT_S, is_speculative, log_interval
from ddbench.checks.needs import THROUGHPUT
from ddbench.checks.rule import Need, rule
from ddbench.checks.steady_stretches import steady_stretches

INTERVAL: Need[Evidence] = Need(
    "--decode-log-interval as the server resolved it", lambda e: log_interval(e) is not None
)
SHORTEST_S = 5 * STAMP_UNIT_S
SHARE = 0.03


@rule(
    "DDB201",
    "throughput-identity-broken",
    Severity.WARNING,
    remedy="Find what throughput counts: commits, not depth, and each token once.",
    needs=(THROUGHPUT, INTERVAL),
)
def throughput_identity_broken(evidence: Evidence) -> Iterator[Outcome]:
    """Throughput, accept len, running requests and time of a window determine each other.

    ## Why it matters
    A throughput that counts depth instead of committed tokens, that counts overlapped steps, or an
    accept len of other steps, breaks this, and any speed concluded from the log is off by as much.

    ## How it is computed
    Over windows on end with one number of requests running and no prefill between: tokens of a
    window = interval * running * accept len (1 without speculation), and the seconds they take are
    tokens / throughput. Their sum must be the time between the first and the last stamp, within
    3 % and the second that stamps are rounded to. Needs a stretch of five seconds.

    ## Example
    Bad: 40 windows of 160 request-steps, accept len 3.0, 480 tok/s, in 60 s (40 s predicted).
    Good: the same in 40 s.
    """
    if is_speculative(evidence) and not any(w.accept_len_logged for w in evidence.windows):
        yield Lacks("accept len")
        return
    longest = max(steady_stretches(evidence), key=lambda s: s.windows, default=None)
    if longest is None or max(longest.predicted_s, longest.stamped_s) < SHORTEST_S:
        yield Lacks(f"{SHORTEST_S:.0f} s of windows with one number running and no prefill")
        return
    off_s = abs(longest.predicted_s - longest.stamped_s)
    if off_s > STAMP_UNIT_S + SHARE * longest.stamped_s:
        yield (
            f"{longest.windows} steady windows took {longest.stamped_s:.0f} s by their stamps and "
            f"{longest.predicted_s:.1f} s by their tokens and throughput"
        )
