"""Which keys each drafted token may see during verification. Torch only, no SGLang.

SGLang gives custom masks flattened over the batch, in one of two layouts
(sglang/kernels/ops/speculative/spec_tree.py TreeMaskMode): QLEN_ONLY holds only the
width x width block of each request; FULL_MASK holds width x (prefix + width).
True, or any non-zero, means "may attend".
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def split_custom_mask(mask: Tensor, prefix_lens: Sequence[int], width: int) -> list[Tensor]:
    """One (width, width) bool block a request: who sees whom among the drafted tokens.

    The layout follows from the length; with no prefix at all the two are the same.
    FULL_MASK lets every drafted token see the whole prefix, so that part is checked, not kept.
    Raises ValueError when the length fits neither layout, or a FULL_MASK hides prefix tokens.
    """
    requests = len(prefix_lens)
    full_lengths = [width * (prefix_len + width) for prefix_len in prefix_lens]
    if mask.numel() == requests * width * width:
        return list(mask.reshape(requests, width, width).bool())
    if mask.numel() != sum(full_lengths):
        raise ValueError(
            f"a mask of {mask.numel()} entries fits neither layout for {requests} requests "
            f"of width {width} over prefixes {list(prefix_lens)}"
        )
    rows = [part.reshape(width, -1).bool() for part in torch.split(mask.reshape(-1), full_lengths)]
    if not all(bool(part[:, :-width].all()) for part in rows):
        raise ValueError("a FULL_MASK that hides part of the prefix is not supported")
    return [part[:, -width:] for part in rows]


def attention_mask(block: Tensor, prefix_len: int, sliding_window: int | None) -> Tensor:
    """(width, prefix_len + width) bool: `block` among the drafted tokens, everything before them.

    With a sliding window a token sees at most that many positions back. A token's position is
    the prefix length plus the number of its ancestors in the block (siblings share one).
    """
    width = block.shape[0]
    prefix = torch.ones(width, prefix_len, dtype=torch.bool)
    mask = torch.cat([prefix, block], dim=1)
    if sliding_window is None:
        return mask
    depths = block.sum(dim=1) - 1  # every token sees itself
    query_positions = prefix_len + depths
    key_positions = torch.cat([torch.arange(prefix_len), query_positions])
    return mask & (key_positions >= (query_positions - sliding_window)[:, None])
