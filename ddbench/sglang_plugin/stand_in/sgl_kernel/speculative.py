"""What sglang/kernels/ops/speculative/reconstruct_tree.py imports; NGRAM drafts need it."""

import torch
from torch import Tensor


def reconstruct_indices_from_tree_mask(
    tree_mask: Tensor,
    verified_seq_len: Tensor,
    positions: Tensor,  # changed
    retrieve_index: Tensor,  # changed
    retrieve_next_token: Tensor,  # changed
    retrieve_next_sibling: Tensor,  # changed
    batch_size: int,
    draft_token_num: int,
) -> None:
    """Positions and first-child / next-sibling links of trees that are given by their masks.

    tree_mask is flat, (requests, nodes, nodes): row i marks node i's ancestors and itself; an
    ancestor has a smaller number. A node's parent is its nearest ancestor. -1 is "none".
    """
    nodes = draft_token_num
    numbers = torch.arange(nodes)
    mask = tree_mask.reshape(batch_size, nodes, nodes).bool()
    ancestors = mask & (numbers[None, :] < numbers[:, None])  # [b, node, ancestor]
    parent = torch.where(ancestors, numbers, -1).amax(dim=2)  # (b, node)

    child_of = ancestors.transpose(1, 2)  # [b, node, descendant]
    later_sibling = (parent[:, :, None] == parent[:, None, :]) & (numbers > numbers[:, None])
    later_sibling &= (parent >= 0)[:, :, None]

    depth = ancestors.sum(dim=2)
    _fill(positions, depth + verified_seq_len[:, None])
    _fill(retrieve_index, torch.arange(batch_size * nodes))
    _fill(retrieve_next_token, _first(child_of))
    _fill(retrieve_next_sibling, _first(later_sibling))


def _first(flags: Tensor) -> Tensor:
    """The smallest number that is flagged in the last dimension, or -1."""
    return torch.where(flags.any(dim=-1), flags.int().argmax(dim=-1), -1)


def _fill(out: Tensor, values: Tensor) -> None:
    out.copy_(values.reshape(out.shape))
