"""When a best-first tree takes each node of the target's path: one pass, every budget.

A best-first builder pops nodes in the order of their weights, so a tree of B nodes is the first B
pops, and one number a node says which budgets hold it: its pop rank. The order depends on topk: a
node whose ranks are all below topk has fewer rivals the smaller topk is. So each topk is a pass of
its own; one order for the largest topk, with the rest struck out, would be another tree.

Weights are sums in float64 along the path, from the root on; equal ones go by the ranks along the
path, compared as a tuple. Both are what ddbench.reference.tree.build_tree does.
"""

import numpy as np
from numpy.typing import NDArray

from ddbench.predict.heaps import Heaps, LogProbs, Ranks, Where

NEVER = np.iinfo(np.int32).max
"""The pop rank of what no tree of the asked size holds."""

ROWS_AT_ONCE = 512
"""Positions stepped together: at 128 nodes they take 3 MB, whatever the length of the text."""


def path_ranks(token_ids: NDArray[np.int32], output_ids: NDArray[np.int32]) -> Ranks:
    """How the drafter ranked what the target wrote: (P, L), 0 is its first choice.

    K stands for a token that is not among the K, and for places behind the end of the answer.

    Args:
        token_ids: (P, L, K), best first; the root of position p is output_ids[p].
        output_ids: (P + 1,) the answer.
    """
    positions, depth, topk = token_ids.shape
    text = np.concatenate((output_ids[1:], np.full(depth, -1, dtype=output_ids.dtype)))
    target = np.lib.stride_tricks.sliding_window_view(text, depth)[:positions]  # (P, L)
    found = token_ids == target[:, :, None]
    ranks: Ranks = np.where(found.any(axis=2), found.argmax(axis=2), topk).astype(np.int32)
    return ranks


def pop_ranks(log_probs: LogProbs, path: Ranks, *, topk: int, budget: int) -> Ranks:
    """The pop rank of each node of the path, from 1, in the trees of one topk; (P, L).

    NEVER stands for nodes that no tree of at most `budget` nodes holds.

    Args:
        log_probs: (P, L, K >= topk), best first, none above 0.
        path: (P, L) from path_ranks.
    """
    ranks = np.full(path.shape, NEVER, dtype=np.int32)
    reach = _reach(path, topk, budget)
    found = np.flatnonzero(reach)
    for start in range(0, found.size, ROWS_AT_ONCE):
        rows = found[start : start + ROWS_AT_ONCE]
        _pop_until_found(ranks, rows, log_probs[rows, :, :topk], path[rows], reach[rows], budget)
    return ranks


def first_cut(log_probs: LogProbs, *, budget: int) -> Ranks:
    """(P,) the first pop after which a tree may miss nodes whose rank was not recorded.

    That is the first pop of a node of the last recorded rank: its next sibling is unknown, and may
    weigh as much. A tree of fewer nodes is the same at every larger topk. NEVER: not in `budget`.
    """
    positions, depth, topk = log_probs.shape
    cut = np.full(positions, NEVER, dtype=np.int32)
    for start in range(0, positions, ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, positions))
        heaps = Heaps(log_probs[rows], np.zeros((rows.size, depth), dtype=np.int32), budget)
        for popped in range(1, budget + 1):
            heaps.pop()
            at_edge = rows[(heaps.rank == topk - 1) & ~heaps.exhausted]
            cut[at_edge] = np.minimum(cut[at_edge], popped)
            rows = _narrow(heaps, rows, heaps.exhausted | (cut[rows] < NEVER))
            if rows.size == 0:
                break
    return cut


def _pop_until_found(
    ranks: Ranks, rows: Where, log_probs: LogProbs, path: Ranks, reach: Where, budget: int
) -> None:
    """Fill ranks[rows] with what `budget` pops find; a row leaves with the last of its path."""
    heaps = Heaps(log_probs, path, budget)
    deepest = np.zeros(ranks.shape[0], dtype=np.intp)
    deepest[rows] = reach - 1
    for popped in range(1, budget + 1):
        heaps.pop()
        hit = heaps.on_path & ~heaps.exhausted
        ranks[rows[hit], heaps.depth[hit]] = popped
        done = heaps.exhausted | (ranks[rows, deepest[rows]] < NEVER)
        rows = _narrow(heaps, rows, done)
        if rows.size == 0:
            return


def _narrow(heaps: Heaps, rows: Where, done: NDArray[np.bool_]) -> Where:
    """Let go of the rows that are done, once they are a quarter: it costs a copy of the rest."""
    if 4 * np.count_nonzero(done) < done.size:
        return rows
    heaps.keep(np.flatnonzero(~done))
    return rows[~done]


def _reach(path: Ranks, topk: int, budget: int) -> Where:
    """(P,) nodes of the path that a tree of `budget` nodes can hold at all.

    A node is popped after every node of at most its ranks, at its depth and above: at depth d there
    are as many of those as the product of (rank + 1) down to it.
    """
    rivals = np.cumprod(np.where(path < topk, path + 1.0, np.inf), axis=1)
    reach: Where = (np.cumsum(rivals, axis=1) <= budget).sum(axis=1)  # a prefix: it only grows
    return reach
