"""Bookkeeping after a step's drafts were accepted.

Called from sglang/kernels/ops/speculative/eagle.py and multi_layer_eagle.py.
"""

import torch
from torch import Tensor


def fill_bonus_tokens_cpu(
    accept_tokens: Tensor,
    accept_lens: Tensor,
    bonus_tokens: Tensor,  # changed
    accept_stride: int,
) -> None:
    """The last accepted token of each request; accept_lens (requests,) counts the bonus token."""
    last = torch.arange(accept_lens.numel()) * accept_stride + accept_lens.long() - 1
    bonus_tokens.copy_(accept_tokens.flatten()[last])


def fill_accept_out_cache_loc_cpu(
    accept_index: Tensor,
    out_cache_loc: Tensor,
    accept_out_cache_loc: Tensor,  # changed
) -> None:
    """The KV slots of accepted rows, closed up; -1 in accept_index marks an unused place."""
    rows = accept_index.flatten()
    slots = out_cache_loc[rows[rows >= 0].long()]
    accept_out_cache_loc[: slots.numel()] = slots


def rotate_input_ids_cpu(
    input_ids: Tensor,  # changed
    extend_start_loc: Tensor,
    extend_seq_lens: Tensor,
    topk_index: Tensor,
    select_index: Tensor | None = None,
) -> None:
    """Shift each request's tokens one to the left and put its new token at the end.

    With select_index the new token goes to that place of `input_ids` instead.
    """
    new_tokens = topk_index.flatten().tolist()
    for request, (start, length) in enumerate(
        zip(extend_start_loc.tolist(), extend_seq_lens.tolist(), strict=True)
    ):
        if length == 0:
            continue
        input_ids[start : start + length - 1] = input_ids[start + 1 : start + length].clone()
        place = start + length - 1 if select_index is None else int(select_index[request])
        input_ids[place] = new_tokens[request]
