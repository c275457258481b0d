from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.limits import depth_limit
from ddbench.checks.needs import DEPTH_LIMIT, STEPS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB140",
    "trace-depth-out-of-range",
    Severity.ERROR,
    remedy="Check that the walk stops at padded nodes and reads its own request's rows.",
    needs=(STEPS, DEPTH_LIMIT),
)
def trace_depth_out_of_range(evidence: Evidence) -> Iterator[Outcome]:
    """A step accepts at most as many drafts as its longest path can hold.

    ## Why it matters
    A deeper walk has gone over padding, through child maps of an earlier step, or through the tree
    of another request. What it commits was never drafted.

    ## How it is computed
    For each step, d = accepted nodes without the root; d <= D = min(block size - 1, budget). Exact.

    ## Example
    Bad: block 8, a step with 9 accepted drafts.
    Good: block 8, a step with 7.
    """
    depth = depth_limit(evidence)
    if depth is None:
        return
    deep = [
        f"{step.where} accepted {step.correct_drafts} drafts, {depth} is most"
        for step in evidence.steps
        if step.correct_drafts > depth
    ]
    if deep:
        yield some_of(deep, len(evidence.steps), "steps")
