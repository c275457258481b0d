from collections.abc import Iterator

from ddbench.checks.evidence import Evidence, StepRecord
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import STEPS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB145",
    "trace-commit-length-wrong",
    Severity.ERROR,
    remedy="Commit the tokens of accepted_indices in order, contiguous or not, and the bonus.",
    needs=(STEPS,),
)
def trace_commit_length_wrong(evidence: Evidence) -> Iterator[Outcome]:
    """A step commits its accepted drafts and the bonus, and nothing else.

    ## Why it matters
    Here a deep walk turns into tokens. A commit that takes only the contiguous slots of a scattered
    path, that drops the bonus, or that clips to the block size, loses what was accepted.

    ## How it is computed
    Not the last step of an answer: commit = tokens of the accepted nodes, in order, then the
    bonus. The last step: a prefix of that, of at least one token. Exact.

    ## Example
    Bad: accepted nodes 0 1 5 6 (3 drafts), and 2 tokens committed.
    Good: accepted nodes 0 1 5 6, and 4 tokens committed.
    """
    wrong = [what for step in evidence.steps if (what := _breach(step))]
    if wrong:
        yield some_of(wrong, len(evidence.steps), "steps")


def _breach(step: StepRecord) -> str | None:
    due = (*(step.tokens[node] for node in step.accepted[1:]), step.bonus)
    if (
        step.finished
        and 1 <= len(step.commit) <= len(due)
        and step.commit == due[: len(step.commit)]
    ):
        return None
    if step.commit == due:
        return None
    if len(step.commit) != len(due):
        return (
            f"{step.where} accepted {step.correct_drafts} drafts and committed "
            f"{len(step.commit)} tokens"
        )
    return f"{step.where} committed {list(step.commit)} where {list(due)} was accepted"
