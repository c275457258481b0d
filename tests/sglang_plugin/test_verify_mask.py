"""Both layouts of SGLang's masks, and who sees whom once the prefix is in front."""

import pytest
import torch

from ddbench.sglang_plugin.verify_mask import attention_mask, split_custom_mask

CHAIN = torch.ones(3, 3, dtype=torch.bool).tril()
FORK = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 0, 1]], dtype=torch.bool)  # two children of the root


def test_a_mask_of_blocks_is_split_by_request() -> None:
    mask = torch.cat([CHAIN.flatten(), FORK.flatten()])

    chain, fork = split_custom_mask(mask, prefix_lens=[4, 9], width=3)

    assert torch.equal(chain, CHAIN)
    assert torch.equal(fork, FORK)


def test_a_full_mask_gives_the_same_blocks() -> None:
    rows = [
        torch.cat([torch.ones(3, prefix_len, dtype=torch.bool), block], dim=1).flatten()
        for prefix_len, block in ((4, CHAIN), (0, FORK), (9, FORK))
    ]

    chain, *forks = split_custom_mask(torch.cat(rows).int(), prefix_lens=[4, 0, 9], width=3)

    assert torch.equal(chain, CHAIN)
    assert all(torch.equal(fork, FORK) for fork in forks)


def test_a_mask_that_hides_the_prefix_is_refused() -> None:
    hiding = torch.cat([torch.zeros(3, 4, dtype=torch.bool), CHAIN], dim=1).flatten()

    with pytest.raises(ValueError, match="hides part of the prefix"):
        split_custom_mask(hiding, prefix_lens=[4], width=3)


def test_a_mask_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="fits neither layout"):
        split_custom_mask(torch.ones(10), prefix_lens=[4], width=3)


def test_every_drafted_token_sees_the_whole_prefix() -> None:
    mask = attention_mask(FORK, prefix_len=2, sliding_window=None)

    assert mask.int().tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 0, 1]]


def test_a_sliding_window_counts_positions_not_nodes() -> None:
    """Both children of the root stand at position 3; with a window of 2 they see 1, 2 and 3."""
    mask = attention_mask(FORK, prefix_len=2, sliding_window=2)

    assert mask.int().tolist() == [[1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 1, 1, 0, 1]]
