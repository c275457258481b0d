from collections.abc import Iterator

from ddbench.checks.evidence import Evidence, StepRecord
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import LOG_WEIGHTS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule

TOLERANCE = 1e-5


@rule(
    "DDB150",
    "trace-first-node-not-best",
    Severity.ERROR,
    remedy="Check the top-k of the first drafted position, across shards too.",
    needs=(LOG_WEIGHTS,),
)
def trace_first_node_not_best(evidence: Evidence) -> Iterator[Outcome]:
    """The first drafted node is the drafter's best guess at the next token.

    ## Why it matters
    A tree that contains the line's own first token accepts at least one draft wherever the line
    does. Without it, a tree can lose to the line, and that is taken for a property of trees.

    ## How it is computed
    Node 1 is a child of the root, and no other child of the root has a larger log_weight, within
    1e-5.

    ## Example
    Bad: children of the root with weights -1.8 (node 1) and -0.2 (node 2).
    Good: -0.2 (node 1) and -1.8 (node 2).
    """
    weighted = [s for s in evidence.steps if len(s.log_weights) > 1]
    odd = [what for step in weighted if (what := _breach(step))]
    if odd:
        yield some_of(odd, len(weighted), "trees")


def _breach(step: StepRecord) -> str | None:
    if step.parents[1] != 0:
        return f"{step.where} has node 1 under node {step.parents[1]}"
    children = [node for node, parent in enumerate(step.parents) if node and parent == 0]
    best = max(children, key=lambda node: step.log_weights[node])
    if step.log_weights[best] > step.log_weights[1] + TOLERANCE:
        return (
            f"{step.where} has weight {step.log_weights[best]:.3f} at node {best} and "
            f"{step.log_weights[1]:.3f} at node 1"
        )
    return None
