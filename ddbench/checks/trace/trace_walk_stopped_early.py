from collections.abc import Iterator

from ddbench.checks.evidence import Evidence, StepRecord
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import STEPS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB143",
    "trace-walk-stopped-early",
    Severity.ERROR,
    remedy="Check the links to siblings, and that no two children of a node share a token.",
    needs=(STEPS,),
)
def trace_walk_stopped_early(evidence: Evidence) -> Iterator[Outcome]:
    """The walk goes on as long as a child holds the target's choice.

    ## Why it matters
    A walk that stops early throws accepted drafts away: the text stays right and the speed is
    lost, so nothing but this shows it. Lost sibling links make a tree behave like its first path.

    ## How it is computed
    No child of the last accepted node has the token that the target chose there. Exact.

    ## Example
    Bad: the walk ends at node 1, the target chose 813, and node 4, a child of 1, has token 813.
    Good: the walk ends at node 1 and none of its children has token 813.
    """
    stopped = [what for step in evidence.steps if (what := _missed(step))]
    if stopped:
        yield some_of(stopped, len(evidence.steps), "steps")


def _missed(step: StepRecord) -> str | None:
    last = step.accepted[-1]
    choice = step.target[last]
    if choice is None:
        return None
    for node, parent in enumerate(step.parents):
        if node and parent == last and step.tokens[node] == choice:
            return (
                f"{step.where} stops at node {last}, though its child {node} holds the target's "
                f"choice {choice}"
            )
    return None
