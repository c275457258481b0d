from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.limits import depth_limit, is_uno
from ddbench.checks.needs import DEPTH_LIMIT, VERIFY_COUNTS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB122",
    "more-drafts-accepted-than-offered",
    Severity.ERROR,
    remedy="Check the width that the server verifies, and that depth is counted along the path.",
    needs=(VERIFY_COUNTS, DEPTH_LIMIT),
)
def more_drafts_accepted_than_offered(evidence: Evidence) -> Iterator[Outcome]:
    """No step can accept more drafted tokens than the longest path holds.

    ## Why it matters
    A depth rate over 1, or a histogram bin beyond D, means that padded nodes were walked, that
    another request's row was read, or that the server runs another width than was asked for.

    ## How it is computed
    For each request, correct drafts <= spec_verify_ct * D and the highest histogram bin in use
    <= D, with D = min(block size - 1, budget). Exact.

    ## Example
    Bad: 71 correct drafts in 10 steps with block size 8 (D = 7).
    Good: 70 correct drafts in 10 steps: all accepted.
    """
    depth = depth_limit(evidence)
    if depth is None or is_uno(evidence):
        return
    offenders = []
    for r in evidence.completed:
        drafts = r.correct_drafts if r.correct_drafts is not None else r.committed_drafts
        if drafts is not None and drafts > (r.verify_ct or 0) * depth:
            offenders.append(
                f"{r.prompt_id} accepted {drafts} drafts in {r.verify_ct or 0} steps of {depth}"
            )
        deepest = max((d for d, steps in enumerate(r.histogram or ()) if steps), default=0)
        if deepest > depth:
            offenders.append(f"{r.prompt_id} has a step of depth {deepest} where {depth} is most")
    if offenders:
        yield some_of(offenders, len(evidence.completed), "requests")
