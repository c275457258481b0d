from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import STEPS, TREE_ARM
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB148",
    "trace-tree-size-wrong",
    Severity.ERROR,
    remedy="Decide whether the root counts in the budget (it does not here), and pass that number.",
    needs=(STEPS, TREE_ARM),
)
def trace_tree_size_wrong(evidence: Evidence) -> Iterator[Outcome]:
    """A tree holds as many drafted nodes as its budget, or as many as topk and depth can fill.

    ## Why it matters
    Implementations differ in whether the root counts. One that counts it drafts one node less at
    every budget, and a sweep over budgets is shifted by one against everybody else's.

    ## How it is computed
    Nodes without the root <= budget, and >= min(budget, topk + topk^2 + ... over depth L = block
    size - 1); a builder that prunes on purpose breaks the lower bound. Exact.

    ## Example
    Bad: budget 16 and trees of 15 nodes.
    Good: budget 16 and trees of 16 nodes beside the root.
    """
    spec = evidence.speculation
    if spec is None or spec.budget is None:
        return
    most, least = spec.budget, 0
    if spec.topk is not None and spec.block_size is not None:
        least = min(most, _full_tree(spec.topk, spec.block_size - 1, most))
    odd = [
        f"{step.where} drafts {step.drafted_nodes} nodes"
        for step in evidence.steps
        if not least <= step.drafted_nodes <= most
    ]
    if odd:
        want = f"{least} to {most}" if least < most else f"{most}"
        yield f"{some_of(odd, len(evidence.steps), 'trees')}, a budget of {most} means {want}"


def _full_tree(topk: int, depth: int, enough: int) -> int:
    """topk + topk^2 + ... + topk^depth, no further than `enough`."""
    total = 0
    for level in range(1, depth + 1):
        total += topk**level
        if total >= enough:
            break
    return total
