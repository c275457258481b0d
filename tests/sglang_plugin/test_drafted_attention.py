"""Attention over scattered slots, against softmax written out token by token."""

import math

import pytest
import torch
from torch import Tensor

from ddbench.sglang_plugin.drafted_attention import LayerAttention, attend, blocks_of

LAYER = LayerAttention(
    query_heads=4, kv_heads=2, key_dim=6, value_dim=6, scaling=0.3, sliding_window=None
)
PREFIX_LENS = [3, 0]
WIDTH = 3
FORK = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 0, 1]], dtype=torch.bool)


def by_hand(query: Tensor, keys: Tensor, values: Tensor, slots: list[int]) -> Tensor:
    """One token's output (query_heads, dim), which sees exactly `slots`."""
    heads = []
    for head in range(LAYER.query_heads):
        group = head // (LAYER.query_heads // LAYER.kv_heads)
        scores = [float(query[head] @ keys[slot, group]) * LAYER.scaling for slot in slots]
        weights = [math.exp(score) for score in scores]
        parts = [w / sum(weights) * values[s, group] for w, s in zip(weights, slots, strict=True)]
        heads.append(torch.stack(parts).sum(dim=0))
    return torch.stack(heads)


@pytest.mark.parametrize(
    ("custom_mask", "sees_all", "seen"),
    [
        (None, False, [[0], [0, 1], [0, 1, 2]]),
        (None, True, [[0, 1, 2]] * 3),
        (torch.stack([FORK, FORK]), False, [[0], [0, 1], [0, 2]]),
    ],
    ids=["causal", "sees_all", "tree"],
)
def test_a_token_sees_its_prefix_and_what_the_mask_lets_it(
    custom_mask: Tensor | None, sees_all: bool, seen: list[list[int]]
) -> None:
    generator = torch.Generator().manual_seed(0)
    keys, values = torch.randn(2, 20, LAYER.kv_heads, 6, generator=generator)
    query = torch.randn(len(PREFIX_LENS) * WIDTH, LAYER.query_heads * 6, generator=generator)
    rows = torch.randperm(20, generator=generator).reshape(2, 10)

    blocks = blocks_of(custom_mask, PREFIX_LENS, WIDTH, sees_all=sees_all)
    output = attend(
        query, keys, values, rows=rows, prefix_lens=PREFIX_LENS, blocks=blocks, layer=LAYER
    )

    for request, prefix_len in enumerate(PREFIX_LENS):
        for token in range(WIDTH):
            positions = [*range(prefix_len), *(prefix_len + other for other in seen[token])]
            expected = by_hand(
                query[request * WIDTH + token].view(LAYER.query_heads, 6),
                keys,
                values,
                [int(rows[request, position]) for position in positions],
            )
            torch.testing.assert_close(
                output[request * WIDTH + token].view(LAYER.query_heads, 6), expected
            )
