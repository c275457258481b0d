from collections.abc import Iterator

from ddbench.checks.acceptance_pairs import P_VALUE, acceptance_change
from ddbench.checks.cells import Cell, cells_of, matched
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

NOTABLE = 0.01


@rule(
    "DDB409",
    "tree-accepts-less-than-linear",
    Severity.ERROR,
    remedy="Run topk 1 against the line (DDB404); if equal, look at the mask of branches.",
    needs=(SEVERAL_RUNS,),
)
def tree_accepts_less_than_linear(comparison: Comparison) -> Iterator[Outcome]:
    """A tree with the line's budget or more must accept at least as much as the line.

    ## Why it matters
    "Tree worse than chain" is the classic sign of a mask that is not applied or of kept cache slots
    that the next window overwrites (4.28 against 6.20 and 4.92 against 5.82 in two reports). A tree
    of the most probable paths loses single steps, not the mean.

    ## How it is computed
    A tree arm with budget >= block size - 1 and topk >= 2 against the linear arm of that block
    size, same conditions: tokens per step by prompt; a fall of over 1 % pooled, and a
    one-sided signed-rank test with p < 0.01.

    ## Example
    Bad: 6.20 tokens a step on the line and 4.28 with the tree, lower for 45 of 48 prompts.
    Good: 6.20 and 7.10.
    """
    compared = False
    for a, b in matched(cells_of(comparison)):
        line, tree = (a, b) if a.is_linear else (b, a)
        if not _should_win(line, tree):
            continue
        change = acceptance_change(line, tree)
        if change is None:
            continue
        compared = True
        if change.share < -NOTABLE and change.p_of_fall < P_VALUE:
            yield Found(
                f"{change.before:.2f} tokens a step with {line.arm} and {change.after:.2f} with "
                f"{tree.arm} over {change.prompts} prompts (p = {change.p_of_fall:.1g})",
                subject=f"{tree.name} and {line.arm}",
            )
    if not compared:
        yield Lacks("a linear arm and a tree arm of its block size (topk >= 2), with verify counts")


def _should_win(line: Cell, tree: Cell) -> bool:
    mine, theirs = line.speculation, tree.speculation
    if not line.is_linear or not tree.is_tree or mine.block_size != theirs.block_size:
        return False
    return (theirs.budget or 0) >= (mine.block_size or 0) - 1 and (theirs.topk or 0) >= 2
