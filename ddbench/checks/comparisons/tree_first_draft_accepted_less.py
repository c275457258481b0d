from collections.abc import Iterator, Mapping

from ddbench.checks.acceptance_pairs import P_VALUE
from ddbench.checks.cells import Cell, cells_of, matched, shared_prompts
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule
from ddbench.stats.signed_rank import signed_rank

NOTABLE = 0.02


@rule(
    "DDB410",
    "tree-first-draft-accepted-less",
    Severity.WARNING,
    remedy="Check that node 1 is the line's first draft (DDB150), and its mask row.",
    needs=(SEVERAL_RUNS,),
)
def tree_first_draft_accepted_less(comparison: Comparison) -> Iterator[Outcome]:
    """A tree accepts a first draft at least as often as the line.

    ## Why it matters
    Every tree contains the line's first draft and others beside it, so P(d >= 1) cannot be lower at
    the same state. Deeper levels may go either way; this one may not.

    ## How it is computed
    Share of verify steps with d >= 1, from the histograms, by prompt, for a tree arm against the
    linear arm of its block size, same conditions: over 0.02 lower pooled, and a one-sided
    signed-rank test with p < 0.01. (Across runs the states differ, so it is statistical.)

    ## Example
    Bad: 0.71 of steps on the line and 0.55 with the tree.
    Good: 0.71 and 0.78.
    """
    compared = False
    for a, b in matched(cells_of(comparison)):
        line, tree = (a, b) if a.is_linear else (b, a)
        if not line.is_linear or not tree.is_tree:
            continue
        if line.speculation.block_size != tree.speculation.block_size:
            continue
        mine, theirs = _first_accepted(line), _first_accepted(tree)
        pairs = shared_prompts(mine, theirs)
        if not pairs:
            continue
        compared = True
        before = sum(x for x, _ in pairs) / len(pairs)
        after = sum(y for _, y in pairs) / len(pairs)
        test = signed_rank(x - y for x, y in pairs)
        if after < before - NOTABLE and test.p_value < P_VALUE:
            yield Found(
                f"a first draft is accepted in {before:.2f} of the steps of {line.arm} and "
                f"{after:.2f} of those of {tree.arm} ({test.larger} of {test.pairs} prompts)",
                subject=f"{tree.name} and {line.arm}",
            )
    if not compared:
        yield Lacks("histograms of a linear arm and a tree arm of its block size")


def _first_accepted(cell: Cell) -> Mapping[str, float]:
    """P(d >= 1) by prompt."""
    shares = {}
    for prompt_id, answers in cell.by_prompt().items():
        histograms = [r.histogram for r in answers if r.histogram]
        steps = sum(sum(h) for h in histograms)
        if steps:
            shares[prompt_id] = 1.0 - sum(h[0] for h in histograms) / steps
    return shares
