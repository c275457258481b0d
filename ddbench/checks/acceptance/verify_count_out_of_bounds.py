from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.limits import counts_after_the_cut, depth_limit, is_uno, verified_tokens
from ddbench.checks.needs import DEPTH_LIMIT, VERIFY_COUNTS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB124",
    "verify-count-out-of-bounds",
    Severity.ERROR,
    remedy="Find steps that commit nothing, or that commit more than a path and its bonus.",
    needs=(VERIFY_COUNTS, DEPTH_LIMIT),
)
def verify_count_out_of_bounds(evidence: Evidence) -> Iterator[Outcome]:
    """An answer's tokens bound the number of steps that can have made them.

    ## Why it matters
    Each step commits 1 to D + 1 tokens. Too many steps: some committed nothing, so work is thrown
    away. Too few: a step committed more than a path and its bonus token, so something is counted
    wrongly or written twice.

    ## How it is computed
    tokens = completion_tokens - 1 - retractions; ceil(tokens / (D + 1)) <= verify_ct <= tokens,
    with D = min(block size - 1, budget). Servers after 0.5.11 may count one overlapped step past
    the end.

    ## Example
    Bad: 31 tokens in 35 steps.
    Good: 31 tokens in 10 steps with block 8 (4 to 30 are possible).
    """
    depth = depth_limit(evidence)
    if depth is None or is_uno(evidence):
        return
    overrun = 0 if counts_after_the_cut(evidence) else 1
    counted = [r for r in evidence.completed if r.verify_ct]
    offenders = []
    for r in counted:
        tokens, steps = verified_tokens(r), r.verify_ct or 0
        fewest = -(-tokens // (depth + 1))
        if not fewest <= steps <= tokens + overrun:
            offenders.append(
                f"{r.prompt_id} made {tokens} tokens in {steps} steps ({fewest} to {tokens} can be)"
            )
    if offenders:
        yield some_of(offenders, len(counted), "answers")
