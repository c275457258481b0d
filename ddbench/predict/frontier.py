"""How close a tree came to being another one: the ties that rounding may turn."""

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ddbench.predict.pop_ranks import path_ranks

Rows = Sequence[Sequence[float]]


def smallest_gap(
    token_ids: NDArray[np.int32],
    log_probs: NDArray[np.float32],
    output_ids: Sequence[int],
    *,
    budget: int,
    topk: int,
) -> tuple[float, int]:
    """The closest tie on the way through one answer, in nats, and the position of its root.

    Two servers round differently, so a tree whose last node weighs nearly as much as the first one
    that did not fit may have the other one instead; likewise the last of the topk candidates.
    """
    path = path_ranks(token_ids, np.asarray(output_ids, dtype=np.int32)).tolist()
    closest, at_position = np.inf, 0
    position, end = 0, token_ids.shape[0]
    topk = min(topk, token_ids.shape[2])
    while position < end:
        rows = log_probs[position].astype(np.float64).tolist()
        tree, gap = _tree_and_gap(rows, budget, topk)
        if gap < closest:
            closest, at_position = gap, position
        depth = 0
        while depth < len(rows) and tuple(path[position][: depth + 1]) in tree:
            depth += 1
        position += depth + 1
    return closest, at_position


def _tree_and_gap(rows: Rows, budget: int, topk: int) -> tuple[set[tuple[int, ...]], float]:
    """The nodes of one tree as ranks along their paths, and the closest tie at its frontier."""
    popped: set[tuple[int, ...]] = set()
    gap = last = np.inf
    heap: list[tuple[float, tuple[int, ...], float]] = [(-rows[0][0], (0,), 0.0)]
    while heap:
        negative, ranks, above = heapq.heappop(heap)
        if len(popped) == budget:
            gap = min(gap, last + negative)  # the last that fits, less the first that does not
            break
        popped.add(ranks)
        last = -negative
        row = rows[len(ranks) - 1]
        if ranks[-1] + 1 < topk:
            sibling = (*ranks[:-1], ranks[-1] + 1)
            heapq.heappush(heap, (-(above + row[ranks[-1] + 1]), sibling, above))
        elif topk < len(row):
            gap = min(gap, row[topk - 1] - row[topk])
        if len(ranks) < len(rows):
            heapq.heappush(heap, (negative - rows[len(ranks)][0], (*ranks, 0), -negative))
    return popped, gap
