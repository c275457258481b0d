from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT, log_interval
from ddbench.checks.needs import ACCEPT_LEN
from ddbench.checks.rule import Need, rule
from ddbench.checks.weighted_means import mean_accept_len

AVERAGE: Need[Evidence] = Need(
    "avg_spec_accept_length of /server_info",
    lambda e: e.counters_after.avg_spec_accept_length is not None,
)
EXACT_INTERVAL = 0.01
UNKNOWN_WEIGHTS = 0.03


@rule(
    "DDB115",
    "cumulative-accept-len-disagrees",
    Severity.ERROR,
    remedy="Flush the cache before the load, and read /server_info right after it.",
    needs=(ACCEPT_LEN, AVERAGE),
)
def cumulative_accept_len_disagrees(evidence: Evidence) -> Iterator[Outcome]:
    """The weighted mean of the log's windows must be the server's cumulative average.

    ## Why it matters
    avg_spec_accept_length is a life-time mean without a denominator. If it is not that of the
    windows, it includes warm-up or earlier runs, and must not be quoted for this one.

    ## How it is computed
    Mean accept len over request-steps (bracketed, since a line does not print its number of
    request-steps) against avg_spec_accept_length, within 1 % at --decode-log-interval 1, else 3 %.
    The average cannot be subtracted, so the rule needs a flush before the load: then it was absent.

    ## Example
    Bad: windows average 3.40 and /server_info says 2.95.
    Good: 3.40 and 3.41.
    """
    if evidence.counters_before.avg_spec_accept_length is not None:
        yield Lacks("a cache flush before the load (the average has no denominator)")
        return
    logged, average = mean_accept_len(evidence), evidence.counters_after.avg_spec_accept_length
    if logged is None or average is None:
        return
    share = EXACT_INTERVAL if log_interval(evidence) == 1 else UNKNOWN_WEIGHTS
    slack = share * average + PRINTED_HALF_UNIT
    if not logged.low - slack <= average <= logged.high + slack:
        yield (
            f"{logged.windows} log windows average {(logged.low + logged.high) / 2:.2f}, "
            f"avg_spec_accept_length is {average:.2f}"
        )
