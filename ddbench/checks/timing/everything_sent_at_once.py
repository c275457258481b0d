from collections.abc import Iterator
from math import isinf

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import TOOL
from ddbench.checks.rule import rule


@rule(
    "DDB212",
    "everything-sent-at-once",
    Severity.INFO,
    remedy="Set a maximum concurrency, or a request rate, and name it beside the figure.",
    needs=(TOOL,),
)
def everything_sent_at_once(evidence: Evidence) -> Iterator[Outcome]:
    """All requests were sent at the same moment, so their latencies are those of a queue.

    ## Why it matters
    An infinite request rate without a limit is the default of the usual tools. The batch is then as
    large as the server allows and shrinks to 1 at the end: tokens per second are of no one
    concurrency, and TTFT is waiting time.

    ## How it is computed
    request_rate is infinite and no maximum concurrency is set.

    ## Example
    Bad: --num-prompts 1000 and nothing else.
    Good: --num-prompts 1000 --max-concurrency 16.
    """
    tool = evidence.tool
    if tool is None or tool.request_rate_per_s is None or not isinf(tool.request_rate_per_s):
        return
    if tool.asked_concurrency is None:
        yield f"{tool.completed or 'all'} requests were sent at once, without a limit"
