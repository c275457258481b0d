from collections.abc import Iterator

from ddbench.checks.acceptance_pairs import P_VALUE, acceptance_change
from ddbench.checks.cells import Cell, cells_of, matched
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

NOTABLE = 0.01


@rule(
    "DDB407",
    "larger-budget-accepts-less",
    Severity.WARNING,
    remedy="Check for a clipped commit, a stale mask, or a graph captured for the smaller tree.",
    needs=(SEVERAL_RUNS,),
)
def larger_budget_accepts_less(comparison: Comparison) -> Iterator[Outcome]:
    """With the same drafter and topk, a larger tree must not accept less.

    ## Why it matters
    The best tree of a larger budget contains that of a smaller one, so at the same state it accepts
    at least as much. Single answers may invert (they part after the first difference), the mean
    must not.

    ## How it is computed
    Tree arms with equal block size and topk, same conditions, budgets B1 < B2: tokens per step by
    prompt; a fall of over 1 % pooled, and a one-sided signed-rank test with p < 0.01. Greedy trees
    only: builders with depth bonuses are not nested (DDB149).

    ## Example
    Bad: 3.4 tokens a step at budget 15 and 2.9 at budget 31, lower for 40 of 48 prompts.
    Good: 3.4 and 3.5.
    """
    compared = False
    for a, b in matched(cells_of(comparison)):
        if not _one_family(a, b):
            continue
        small, large = sorted((a, b), key=lambda cell: cell.speculation.budget or 0)
        change = acceptance_change(small, large)
        if change is None:
            continue
        compared = True
        if change.share < -NOTABLE and change.p_of_fall < P_VALUE:
            yield Found(
                f"{change.before:.2f} tokens a step with {small.arm} and {change.after:.2f} with "
                f"{large.arm} over {change.prompts} prompts (p = {change.p_of_fall:.1g})",
                subject=f"{large.name} and {small.arm}",
            )
    if not compared:
        yield Lacks("tree arms that differ in their budget alone, with verify counts")


def _one_family(a: Cell, b: Cell) -> bool:
    mine, theirs = a.speculation, b.speculation
    return (
        a.is_tree
        and b.is_tree
        and (mine.block_size, mine.topk) == (theirs.block_size, theirs.topk)
        and mine.budget != theirs.budget
    )
