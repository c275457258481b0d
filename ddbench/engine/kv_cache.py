"""Keys and values of running requests, one slot a request, one row a token.

Slots are numbers that the scheduler hands out; the cache neither allocates nor frees them.
Rows are never erased: a slot is reused by writing over it, and whoever reads says how many rows
are alive.
"""

import torch
from torch import Tensor

FIRST_CAPACITY = 256


class KvCache:
    """Storage is (layers, 2, slots, kv_heads, capacity, head_dim) float32; capacity doubles.

    kv_heads stand before the rows, so that a slice of rows is what attention wants, uncopied.
    """

    def __init__(self, layers: int, kv_heads: int, head_dim: int, slots: int) -> None:
        self.slots = slots
        self._storage = torch.zeros(layers, 2, slots, kv_heads, FIRST_CAPACITY, head_dim)

    @property
    def capacity(self) -> int:
        """Rows a slot has now."""
        return self._storage.shape[4]

    def reserve(self, rows: int) -> None:
        """Grow until every slot has at least `rows` rows."""
        capacity = self.capacity
        if rows <= capacity:
            return
        while capacity < rows:
            capacity *= 2
        layers, two, slots, kv_heads, old, head_dim = self._storage.shape
        with torch.inference_mode(False):  # else `move` could not write outside inference mode
            grown = torch.zeros(layers, two, slots, kv_heads, capacity, head_dim)
            grown[:, :, :, :, :old] = self._storage
        self._storage = grown

    def write(self, layer: int, slots: Tensor, starts: Tensor, k: Tensor, v: Tensor) -> None:
        """Write rows starts..starts+W-1 of each slot.

        slots, starts: (n,) int64. k, v: (n, W, kv_heads, head_dim) float32.
        """
        n, width = k.shape[:2]
        keys, values = self._storage[layer]
        if n == 1:
            slot, start = int(slots), int(starts)
            self.reserve(start + width)
            keys, values = self._storage[layer]
            keys[slot, :, start : start + width] = k[0].transpose(0, 1)
            values[slot, :, start : start + width] = v[0].transpose(0, 1)
            return
        self.reserve(int(starts.max()) + width)
        keys, values = self._storage[layer]
        rows = starts[:, None] + torch.arange(width)
        keys[slots[:, None], :, rows] = k
        values[slots[:, None], :, rows] = v

    def view(self, layer: int, slots: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """The first `length` rows: two (n, kv_heads, length, head_dim).

        No copy when the slots are a run s, s+1, ...; otherwise the rows are gathered.
        """
        keys, values = self._storage[layer]
        if (first := _run_start(slots)) is not None:
            run = slice(first, first + slots.numel())
            return keys[run, :, :length], values[run, :, :length]
        return keys[:, :, :length][slots], values[:, :, :length][slots]

    def move(self, slot: int, source_rows: Tensor, target_rows: Tensor) -> None:
        """Copy rows within a slot, in all layers; sources are read before any target is written.

        source_rows, target_rows: (m,) int64; they may overlap.
        """
        rows = self._storage[:, :, slot]  # (layers, 2, kv_heads, capacity, head_dim)
        rows[:, :, :, target_rows] = rows[:, :, :, source_rows]


def _run_start(slots: Tensor) -> int | None:
    numbers: list[int] = slots.tolist()
    first = numbers[0]
    return first if numbers == list(range(first, first + len(numbers))) else None
