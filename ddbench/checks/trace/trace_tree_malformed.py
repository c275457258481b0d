from collections.abc import Iterator

from ddbench.checks.evidence import Evidence, StepRecord
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import STEPS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB147",
    "trace-tree-malformed",
    Severity.ERROR,
    remedy="Check the tree builder, and the order into which nodes are sorted after it.",
    needs=(STEPS,),
)
def trace_tree_malformed(evidence: Evidence) -> Iterator[Outcome]:
    """The drafted nodes form a tree in which a walk is unambiguous.

    ## Why it matters
    Masks, positions and the walk are computed from parents and depths. A parent that comes after
    its child, a wrong depth or two equal siblings break all three quietly.

    ## How it is computed
    Node 0 is the root with parent -1 and depth 0; every other node has a parent before it, a depth
    one more than its parent's, and a token that no sibling has. Exact.

    ## Example
    Bad: node 3 has parent 5.
    Good: parents -1 0 0 1, depths 0 1 1 2.
    """
    malformed = [what for step in evidence.steps if (what := _breach(step))]
    if malformed:
        yield some_of(malformed, len(evidence.steps), "trees")


def _breach(step: StepRecord) -> str | None:
    if step.parents[0] != -1 or step.depths[0] != 0:
        return f"{step.where} has a root of parent {step.parents[0]} and depth {step.depths[0]}"
    seen: set[tuple[int, int]] = set()
    for node in range(1, len(step.parents)):
        parent = step.parents[node]
        if not 0 <= parent < node:
            return f"{step.where} has node {node} with parent {parent}"
        if step.depths[node] != step.depths[parent] + 1:
            return (
                f"{step.where} has node {node} of depth {step.depths[node]} under a parent of "
                f"depth {step.depths[parent]}"
            )
        if (parent, step.tokens[node]) in seen:
            return f"{step.where} has two children of node {parent} with token {step.tokens[node]}"
        seen.add((parent, step.tokens[node]))
    return None
