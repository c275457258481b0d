"""Move KV rows between slots, in all layers at once.

Called from sglang/kernels/ops/kvcache/cache_move.py with raw addresses, not tensors.
"""

import ctypes

import torch
from torch import Tensor


def copy_all_layer_kv_cache_cpu(
    data_ptrs: Tensor, strides: Tensor, tgt_loc: Tensor, src_loc: Tensor
) -> None:
    """Copy row src_loc[i] to row tgt_loc[i] of every buffer; targets and sources may overlap.

    Args:
        data_ptrs: (buffers,) address of each buffer, keys and values of each layer.
        strides: (buffers,) bytes of one row.
        tgt_loc, src_loc: (moves,) row numbers.
    """
    if src_loc.numel() == 0:
        return
    sources, targets = src_loc.long(), tgt_loc.long()
    rows_in_reach = int(torch.cat([sources, targets]).max()) + 1
    for address, row_bytes in zip(data_ptrs.tolist(), strides.tolist(), strict=True):
        memory = (ctypes.c_uint8 * (rows_in_reach * row_bytes)).from_address(address)
        buffer = torch.frombuffer(memory, dtype=torch.uint8).view(rows_in_reach, row_bytes)
        buffer[targets] = buffer[sources]  # gathers all sources before it writes
