from collections.abc import Iterator

from ddbench.checks.answer_pairs import divergence, first_answers
from ddbench.checks.cells import Cell, cells_of, matched
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule

SHARE_BATCHED = 0.005


@rule(
    "DDB404",
    "chain-tree-not-linear",
    Severity.ERROR,
    remedy="Compare mask, positions and cache moves of both arms on the first prompt that differs.",
    needs=(SEVERAL_RUNS,),
)
def chain_tree_not_linear(comparison: Comparison) -> Iterator[Outcome]:
    """A tree with one candidate a depth, deep enough, is the linear draft.

    ## Why it matters
    The first test to run: it takes branching away and leaves the tree's mask, positions, cache
    moves and walk. If this differs from the line, look no further for why trees are slow or wrong.

    ## How it is computed
    A tree arm with topk 1 and budget >= block size - 1 against the linear arm of that block size,
    same conditions, temperature 0. Concurrency 1: for every prompt equal token ids, verify_ct and
    histogram. Otherwise batches differ by chance: sum(verify_ct) within 0.5 %.

    ## Example
    Bad: linear-8 takes 21 steps for prompt p3 and tree-8-7-1 takes 29.
    Good: equal in all 48 prompts.
    """
    found = False
    for a, b in matched(cells_of(comparison)):
        line, chain = (a, b) if a.is_linear else (b, a)
        if not _same_drafts(line, chain) or line.conditions.temperature != 0:
            continue
        found = True
        breach = _exact(line, chain) if line.conditions.concurrency == 1 else _batched(line, chain)
        if breach:
            yield Found(breach, subject=f"{line.name} and {chain.arm}")
    if not found:
        yield Lacks("a linear arm and a tree arm with topk 1 of its depth, at temperature 0")


def _same_drafts(line: Cell, chain: Cell) -> bool:
    mine, theirs = line.speculation, chain.speculation
    if not line.is_linear or not chain.is_tree or theirs.topk != 1:
        return False
    depth = (mine.block_size or 0) - 1
    return mine.block_size == theirs.block_size and (theirs.budget or 0) >= depth


def _exact(line: Cell, chain: Cell) -> str | None:
    pairs = list(first_answers(line, chain))
    odd = []
    for mine, theirs in pairs:
        if (parted := divergence(mine, theirs)) is not None:
            odd.append(f"{mine.prompt_id} parts at token {parted.position}")
        elif mine.verify_ct != theirs.verify_ct:
            odd.append(f"{mine.prompt_id} takes {mine.verify_ct} steps and {theirs.verify_ct}")
        elif mine.histogram and theirs.histogram and mine.histogram != theirs.histogram:
            odd.append(f"{mine.prompt_id} accepts other numbers of drafts")
    return some_of(odd, len(pairs), "prompts") if odd else None


def _batched(line: Cell, chain: Cell) -> str | None:
    pairs = list(first_answers(line, chain))
    mine = sum(a.verify_ct or 0 for a, _ in pairs)
    theirs = sum(b.verify_ct or 0 for _, b in pairs)
    if abs(mine - theirs) <= SHARE_BATCHED * mine:
        return None
    return f"{mine} verify steps against {theirs} for the same {len(pairs)} prompts"
