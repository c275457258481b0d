from collections.abc import Iterator
from math import ceil

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.rule import Need, rule
from ddbench.stats.quantile import fewest_requests

FEWEST = fewest_requests(0.99)
MEASURED: Need[Evidence] = Need(
    "completed requests of a load",
    lambda e: (
        (bool(e.completed) and e.load is not None)
        or (e.tool is not None and any("p99" in v for v in e.tool.percentiles.values()))
    ),
)


@rule(
    "DDB207",
    "percentile-of-too-few",
    Severity.INFO,
    remedy="Quote the median and the maximum, or measure 1,000 requests.",
    needs=(MEASURED,),
)
def percentile_of_too_few(evidence: Evidence) -> Iterator[Outcome]:
    """A 99th percentile of fewer than 1,000 requests rests on the few slowest ones.

    ## Why it matters
    It is quoted as if it were a property of the server, and is that of a handful of requests; of a
    single one where there are fewer than 100.

    ## How it is computed
    Completed requests < 1,000: fewer than ten of them lie above the 99th percentile.

    ## Example
    Bad: p99 of 40 requests.
    Good: p99 of 1,000 requests; the maximum of 40.
    """
    answers = len(evidence.completed)
    if evidence.tool is not None and evidence.tool.completed is not None:
        answers = evidence.tool.completed
    if answers < FEWEST:
        slowest = "slowest single one" if answers < 100 else f"{ceil(answers / 100)} slowest"
        yield f"{answers} requests: their 99th percentile rests on the {slowest}"
