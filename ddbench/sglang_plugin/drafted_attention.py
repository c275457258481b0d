"""Attention of drafted tokens over one KV pool, request by request. Torch only, no SGLang.

A request brings `width` tokens, whose KV slots are already in its row of the token table. Three
kinds of mask occur:

- linear drafts: none given; causal inside the block;
- trees (NGRAM, DDTREE): a custom mask, see verify_mask.py;
- the drafter's own pass of DFlash: the block sees all of itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ddbench.sglang_plugin.verify_mask import attention_mask, split_custom_mask


@dataclass(frozen=True, slots=True)
class LayerAttention:
    """One layer's attention. sliding_window: None where there is none."""

    query_heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    scaling: float
    sliding_window: int | None


def blocks_of(
    custom_mask: Tensor | None, prefix_lens: Sequence[int], width: int, *, sees_all: bool
) -> list[Tensor]:
    """Who sees whom among a request's drafted tokens: one (width, width) bool mask a request."""
    everything = torch.ones(width, width, dtype=torch.bool)
    if sees_all:
        return [everything] * len(prefix_lens)
    if custom_mask is not None and custom_mask.numel():
        return split_custom_mask(custom_mask, prefix_lens, width)
    return [everything.tril()] * len(prefix_lens)


def attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    rows: Tensor,
    prefix_lens: Sequence[int],
    blocks: Sequence[Tensor],
    layer: LayerAttention,
) -> Tensor:
    """Every drafted token sees its request's prefix, and what its block lets it see.

    Args:
        query: (requests * width, query_heads * key_dim).
        keys, values: (slots, kv_heads, dim) of the whole pool.
        rows: (requests, positions), the slot of each position.
        blocks: from blocks_of.

    Returns: (requests * width, query_heads * value_dim).
    """
    width = blocks[0].shape[0]
    queries = query.view(len(prefix_lens), width, layer.query_heads, layer.key_dim)
    outputs = []
    for drafted, row, prefix_len, block in zip(queries, rows, prefix_lens, blocks, strict=True):
        slots = row[: prefix_len + width].long()
        attended = scaled_dot_product_attention(
            drafted.transpose(0, 1)[None],  # (1, heads, width, dim)
            keys[slots].transpose(0, 1)[None].to(query.dtype),
            values[slots].transpose(0, 1)[None].to(query.dtype),
            attn_mask=attention_mask(block, prefix_len, layer.sliding_window),
            scale=layer.scaling,
            enable_gqa=layer.query_heads != layer.kv_heads,
        )
        outputs.append(attended[0].transpose(0, 1))
    return torch.cat(outputs).reshape(query.shape[0], layer.query_heads * layer.value_dim)
