from collections import Counter
from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.rule import Need, rule

ANY_REQUEST: Need[Evidence] = Need(
    "requests",
    lambda e: bool(e.requests) or (e.tool is not None and e.tool.failed is not None),
)


@rule(
    "DDB209",
    "requests-failed",
    Severity.WARNING,
    remedy="Read the reasons, fix them, and measure again; survivors are not a fair sample.",
    needs=(ANY_REQUEST,),
)
def requests_failed(evidence: Evidence) -> Iterator[Outcome]:
    """Some requests of the trial have no answer.

    ## Why it matters
    Those that fail are seldom the average ones: long prompts that do not fit, answers that ran into
    a limit of time. Speed and acceptance of the rest are then of another workload.

    ## How it is computed
    Requests that failed or were aborted, of those sent, with the most frequent reason.

    ## Example
    Bad: 6 of 48 requests failed: HTTP 400, input too long.
    Good: 48 of 48 completed.
    """
    tool = evidence.tool
    if tool is not None and tool.failed and not evidence.requests:
        yield f"{tool.failed} of {tool.failed + (tool.completed or 0)} requests failed"
        return
    reasons = Counter(r.reason for r in evidence.failed)
    reasons.update(
        "aborted by the server" for r in evidence.completed if r.finish_reason == "abort"
    )
    if reasons:
        ((reason, _times),) = reasons.most_common(1)
        yield (
            f"{sum(reasons.values())} of {len(evidence.requests)} requests failed, most often: "
            f"{reason[:200]}"
        )
