from collections.abc import Iterator
from itertools import groupby, pairwise

from ddbench.checks.acceptance_pairs import P_VALUE
from ddbench.checks.cells import Cell, cells_of
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule
from ddbench.stats.signed_rank import signed_rank

NOTABLE = 0.02


@rule(
    "DDB408",
    "budget-gain-grows",
    Severity.WARNING,
    remedy="Look for a graph bucket, kernel or metric that changes between the two budgets.",
    needs=(SEVERAL_RUNS,),
)
def budget_gain_grows(comparison: Comparison) -> Iterator[Outcome]:
    """Each further node of a tree must gain less than the one before.

    ## Why it matters
    Nodes are added from the most probable on, so expected acceptance is concave in the budget. A
    sudden gain at one budget is a boundary at which numerics or counting change, not a better tree.

    ## How it is computed
    Three neighbouring budgets of one block size and topk, same conditions: gain per node, by
    prompt, of the second interval minus the first. Fires when the mean gain would lift tokens
    per step by over 2 % more than the first interval's slope, and a signed-rank test has p < 0.01.

    ## Example
    Bad: 3.0, 3.1 and 4.4 tokens a step at budgets 7, 15 and 31.
    Good: 3.0, 3.3 and 3.5.
    """
    cells = [c for c in cells_of(comparison) if c.is_tree and c.conditions.prompts is not None]
    compared = False
    for _, members in groupby(sorted(cells, key=_family), key=_family):
        ordered = sorted(members, key=lambda cell: cell.speculation.budget or 0)
        for (small, middle), (_, large) in pairwise(pairwise(ordered)):
            gains = _slope_changes(small, middle, large)
            if not gains:
                continue
            compared = True
            span = (large.speculation.budget or 0) - (middle.speculation.budget or 0)
            extra = sum(gains) / len(gains) * span
            test = signed_rank(gains)
            before = middle.tokens_per_step or 1.0
            if extra > NOTABLE * before and test.p_value < P_VALUE:
                yield Found(
                    f"{small.tokens_per_step:.2f}, {before:.2f} and {large.tokens_per_step:.2f} "
                    f"tokens a step: the last step of the budget gains {extra:.2f} more than the "
                    f"one before allows ({test.larger} of {test.pairs} prompts)",
                    subject=f"{small.arm}, {middle.arm} and {large.name}",
                )
    if not compared:
        yield Lacks("three budgets of one block size and topk, with verify counts")


def _family(cell: Cell) -> str:
    spec = cell.speculation
    return f"{spec.algorithm} {spec.block_size} {spec.topk} {cell.conditions}"


def _slope_changes(small: Cell, middle: Cell, large: Cell) -> list[float]:
    """By prompt: gain a node from middle to large, minus that from small to middle."""
    means = [cell.tokens_per_step_by_prompt() for cell in (small, middle, large)]
    sizes = [cell.speculation.budget or 0 for cell in (small, middle, large)]
    if sizes[0] == sizes[1] or sizes[1] == sizes[2]:
        return []
    return [
        (means[2][p] - means[1][p]) / (sizes[2] - sizes[1])
        - (means[1][p] - means[0][p]) / (sizes[1] - sizes[0])
        for p in means[0]
        if p in means[1] and p in means[2]
    ]
