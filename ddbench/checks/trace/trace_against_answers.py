from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import verified_tokens
from ddbench.checks.needs import STEPS, VERIFY_COUNTS
from ddbench.checks.rule import rule


@rule(
    "DDB153",
    "trace-against-answers",
    Severity.ERROR,
    remedy="Check that a step is counted once, where its tokens are appended.",
    needs=(STEPS, VERIFY_COUNTS),
)
def trace_against_answers(evidence: Evidence) -> Iterator[Outcome]:
    """Steps and tokens of the trace are those of the answers.

    ## Why it matters
    The trace shows what happened, the answers what was counted. A difference is a step that was
    counted twice or not at all, or tokens that never reached the client.

    ## How it is computed
    sum(commit) = sum(completion_tokens - 1 - retractions) and the number of steps =
    sum(spec_verify_ct), when the trace holds as many requests as were answered. Exact.

    ## Example
    Bad: the trace commits 3,020 tokens and the answers hold 2,984.
    Good: 2,984 and 2,984.
    """
    traced = len({step.rid for step in evidence.steps})
    answered = [r for r in evidence.completed if r.verify_ct]
    if traced != len(answered):
        yield Lacks(f"a trace of just these requests (it has {traced}, the run {len(answered)})")
        return
    committed = sum(len(step.commit) for step in evidence.steps)
    tokens = sum(verified_tokens(r) for r in answered)
    steps = sum(r.verify_ct or 0 for r in answered)
    if committed != tokens or len(evidence.steps) != steps:
        yield (
            f"the trace has {committed} tokens in {len(evidence.steps)} steps, the answers "
            f"{tokens} in {steps}"
        )
