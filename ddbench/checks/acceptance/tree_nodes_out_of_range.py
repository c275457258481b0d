from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Found, Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT
from ddbench.checks.needs import TREE_ARM
from ddbench.checks.rule import Need, rule

TREE_NODES: Need[Evidence] = Need(
    "log windows with the mean number of tree nodes",
    lambda e: any(w.tree_nodes is not None for w in e.windows),
)


@rule(
    "DDB119",
    "tree-nodes-out-of-range",
    Severity.ERROR,
    remedy="Count nodes by the builder's own size, never by token ids that are not 0.",
    needs=(TREE_ARM, TREE_NODES),
)
def tree_nodes_out_of_range(evidence: Evidence) -> Iterator[Outcome]:
    """The logged tree size must be the number of drafted nodes, the root left out.

    ## Why it matters
    Where the root is counted, a budget of 16 drafts 15 tokens and every budget is off by one
    against the paper and other servers. Where padding is told apart by token id 0, a tree that
    drafts that very token is cut short.

    ## How it is computed
    For each line, 1 <= nodes <= budget, within half a printed unit. With a step trace of the run,
    each line also lies between its smallest and its largest tree.

    ## Example
    Bad: budget 31, 32.00 nodes in every line: the root is counted.
    Good: budget 31, 31.00 nodes.
    """
    spec = evidence.speculation
    if spec is None or spec.budget is None:
        return
    sizes = [w.tree_nodes for w in evidence.windows if w.tree_nodes is not None]
    if all(abs(size - spec.budget - 1) <= PRINTED_HALF_UNIT for size in sizes):
        yield Found(
            f"{spec.budget + 1} nodes in all {len(sizes)} windows with a budget of {spec.budget}: "
            "the root is counted",
            remedy="Leave the root out of the count, or out of the budget: say which in the flag.",
        )
        return
    low, high = 1, spec.budget
    if evidence.steps:
        low = min(step.drafted_nodes for step in evidence.steps)
        high = max(step.drafted_nodes for step in evidence.steps)
    odd = [
        size for size in sizes if not low - PRINTED_HALF_UNIT <= size <= high + PRINTED_HALF_UNIT
    ]
    if odd:
        yield (
            f"{odd[0]:.2f} tree nodes, outside {low} to {high}, in {len(odd)} of {len(sizes)} "
            "windows"
        )
