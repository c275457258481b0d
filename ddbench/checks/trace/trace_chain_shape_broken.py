from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import CHAIN_ARM, STEPS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB151",
    "trace-chain-shape-broken",
    Severity.ERROR,
    remedy="Check the builder with topk 1: it must give the line.",
    needs=(STEPS, CHAIN_ARM),
)
def trace_chain_shape_broken(evidence: Evidence) -> Iterator[Outcome]:
    """A tree with one candidate a depth is a line.

    ## Why it matters
    topk 1 is the bridge between tree and line: the same drafts through the tree's code. If it is
    not a chain, no difference between the two arms can be pinned on branching.

    ## How it is computed
    parent(i) = i - 1 for every node, and accepted = 0, 1, ..., d. Exact.

    ## Example
    Bad: topk 1, parents -1 0 0.
    Good: topk 1, parents -1 0 1.
    """
    broken = [
        f"{step.where} has parents {list(step.parents)[:8]} and accepted {list(step.accepted)[:8]}"
        for step in evidence.steps
        if step.parents != tuple(range(-1, len(step.parents) - 1))
        or step.accepted != tuple(range(len(step.accepted)))
    ]
    if broken:
        yield some_of(broken, len(evidence.steps), "steps")
