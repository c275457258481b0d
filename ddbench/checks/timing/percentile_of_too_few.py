from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.rule import Need, rule

FEWEST = 100
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
    remedy="Quote the median and the maximum, or measure a few hundred requests.",
    needs=(MEASURED,),
)
def percentile_of_too_few(evidence: Evidence) -> Iterator[Outcome]:
    """A 99th percentile of fewer than 100 requests is just the slowest one.

    ## Why it matters
    It is quoted as if it were a property of the server, and is one request.

    ## How it is computed
    Completed requests < 100: the share above the 99th percentile is less than one request.

    ## Example
    Bad: p99 of 40 requests.
    Good: p99 of 1,000 requests; the maximum of 40.
    """
    answers = len(evidence.completed)
    if evidence.tool is not None and evidence.tool.completed is not None:
        answers = evidence.tool.completed
    if answers < FEWEST:
        yield f"{answers} requests: their 99th percentile is the slowest single one"
