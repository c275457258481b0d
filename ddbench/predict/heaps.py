"""Best-first tree builders of many positions, stepped together in arrays.

Row by row this is the heap of ddbench.reference.tree.build_tree: a pop takes the heaviest
candidate, then offers its next sibling and its first child. The sibling takes the slot of what was
popped and the child a new one, so that after t pops the candidates are slots 0..t.
"""

import numpy as np
from numpy.typing import NDArray

Ranks = NDArray[np.int32]
LogProbs = NDArray[np.float32]
Where = NDArray[np.intp]


class Heaps:
    """Builders of n rows. After `pop`, depth, rank and on_path say what each row popped.

    Args:
        log_probs: (n, L, topk), best first, none above 0.
        path: (n, L) the ranks of a path; on_path tells which pops lie on it.
        budget: how often `pop` will be called at most.
    """

    def __init__(self, log_probs: LogProbs, path: Ranks, budget: int) -> None:
        rows, self._depth_limit, self._topk = log_probs.shape
        slots = budget + 1
        self._log_probs = log_probs.astype(np.float64)
        self._path = path
        # Of candidates, (n, slots). Depth 0 is right below the root; an empty slot weighs -inf.
        self._weight = np.full((rows, slots), -np.inf)
        self._above = np.zeros((rows, slots))  # the weight of the parent
        self._depth = np.zeros((rows, slots), dtype=np.int16)
        self._rank = np.zeros((rows, slots), dtype=np.int16)
        self._parent = np.zeros((rows, slots), dtype=np.int32)  # a pop, counted from 1; 0: root
        self._below_path = np.zeros((rows, slots), dtype=np.bool_)  # the parent lies on the path
        # Of pops, (n, slots), entry 0 unused: what ties are settled by.
        self._popped_parent = np.zeros((rows, slots), dtype=np.int32)
        self._popped_rank = np.zeros((rows, slots), dtype=np.int16)

        self._weight[:, 0] = self._log_probs[:, 0, 0]
        self._below_path[:, 0] = True
        self._pops = 0
        self.depth = np.zeros(rows, dtype=np.int16)
        self.rank = np.zeros(rows, dtype=np.int16)
        self.on_path = np.zeros(rows, dtype=np.bool_)
        self.exhausted = np.zeros(rows, dtype=np.bool_)  # no node was left to pop

    def pop(self) -> None:
        """Pop one node of every row, and offer what follows from it."""
        self._pops += 1
        rows = np.arange(self._weight.shape[0])
        slot = self._heaviest()
        weight = self._weight[rows, slot]
        depth = self._depth[rows, slot]
        rank = self._rank[rows, slot]
        below_path = self._below_path[rows, slot]
        on_path = below_path & (self._path[rows, depth] == rank)
        self.depth, self.rank, self.on_path = depth, rank, on_path
        self.exhausted = weight == -np.inf
        self._popped_parent[:, self._pops] = self._parent[rows, slot]
        self._popped_rank[:, self._pops] = rank

        sibling = np.minimum(rank + 1, self._topk - 1)
        self._weight[rows, slot] = np.where(
            rank + 1 < self._topk,
            self._above[rows, slot] + self._log_probs[rows, depth, sibling],
            -np.inf,
        )
        self._rank[rows, slot] = rank + 1

        new = self._pops
        if new < self._weight.shape[1]:
            below = np.minimum(depth + 1, self._depth_limit - 1)
            self._weight[:, new] = np.where(
                depth + 1 < self._depth_limit, weight + self._log_probs[rows, below, 0], -np.inf
            )
            self._above[:, new] = weight
            self._depth[:, new] = depth + 1
            self._parent[:, new] = new
            self._below_path[:, new] = on_path

    def keep(self, rows: Where) -> None:
        """Go on with these rows only."""
        for name, array in vars(self).items():
            if isinstance(array, np.ndarray):
                setattr(self, name, array[rows])

    def _heaviest(self) -> Where:
        """(n,) the slot each row pops next."""
        candidates = self._weight[:, : self._pops]
        slot: Where = candidates.argmax(axis=1)
        heaviest = candidates[np.arange(slot.size), slot]
        equal = np.count_nonzero(candidates == heaviest[:, None], axis=1)
        for row in np.flatnonzero((equal > 1) & (heaviest > -np.inf)):
            tied = np.flatnonzero(candidates[row] == heaviest[row])
            slot[row] = min(tied, key=lambda candidate: self._ranks_of(row, candidate))
        return slot

    def _ranks_of(self, row: np.intp, slot: np.intp) -> tuple[int, ...]:
        """The ranks along the path to a candidate: equal weights go by them."""
        ranks = [int(self._rank[row, slot])]
        above = int(self._parent[row, slot])
        while above:
            ranks.append(int(self._popped_rank[row, above]))
            above = int(self._popped_parent[row, above])
        return tuple(reversed(ranks))
