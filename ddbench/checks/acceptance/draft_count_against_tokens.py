from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import depth_limit, is_uno, verified_tokens
from ddbench.checks.needs import VERIFY_COUNTS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB120",
    "draft-count-against-tokens",
    Severity.ERROR,
    remedy="Compare what each step appended with what it accepted (DDB145 on a step trace).",
    needs=(VERIFY_COUNTS,),
)
def draft_count_against_tokens(evidence: Evidence) -> Iterator[Outcome]:
    """Every output token is the prefill's, an accepted draft or a bonus token.

    ## Why it matters
    This is the bookkeeping of speculation. When it does not close, accepted tokens were lost on the
    way to the output (tokens computed for nothing), counted past the end of the answer, or counted
    as depth where commits are meant, and every acceptance figure is off.

    ## How it is computed
    For each answer, tokens = completion_tokens - 1 - retractions: each prefill gives one token.
    Drafts counted as they are appended (SGLang up to 0.5.11; committed_drafts):
    tokens = verify_ct + drafts, exactly.
    Drafts counted before the cut at the end (0.5.23; correct_drafts): verify_ct + drafts may exceed
    tokens by what the last step loses, 0 to D = min(block size - 1, budget); by anything where D
    is unknown.

    ## Example
    Bad: 31 tokens, 10 steps, 27 correct drafts, block 4: 7 too many, and a step loses 3 at most.
    Good: 31 tokens, 10 steps, 22 correct drafts, block 8: 2 were cut at the end.
    """
    if is_uno(evidence):
        return
    depth = depth_limit(evidence)
    counted = [r for r in evidence.completed if r.verify_ct]
    offenders = []
    checked = 0
    for r in counted:
        tokens, steps = verified_tokens(r), r.verify_ct or 0
        made = f"{r.prompt_id} has {tokens} tokens after prefill from {steps} steps"
        if r.committed_drafts is not None:
            checked += 1
            if tokens != steps + r.committed_drafts:
                offenders.append(f"{made} and {r.committed_drafts} committed drafts")
                continue
        if r.correct_drafts is not None:
            checked += 1
            surplus = steps + r.correct_drafts - tokens
            if surplus < 0 or (depth is not None and surplus > depth):
                offenders.append(f"{made} and {r.correct_drafts} correct drafts")
    if not checked:
        yield Lacks("draft counts of the answers")
    elif offenders:
        yield some_of(offenders, len(counted), "answers do not add up")
