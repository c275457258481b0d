"""Draft trees and the best-first builder, the slow and obvious way.

Node 0 is the root: the last token already emitted. Every other node is one drafted token, and the
path from the root to it is one guess at how the text goes on. L is the number of drafted positions
(block size - 1), K the candidates kept at each. The drafter's distributions do not depend on the
path, so a node's probability under the drafter is a product over its depths.

Kernels and servers are tested against this file.

Source: the DDTree paper, Algorithm 1 and propositions 1 and 2.
"""

import heapq
import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, eq=False)
class DraftTree:
    """Nodes in an order in which a parent stands before its children.

    token_ids    (nodes,) int64; token_ids[0] is the root token, already emitted
    parents      (nodes,) int64; parents[0] == -1
    log_weights  (nodes,) float64; log-probability of the node's path under the drafter, root 0.0

    Raises ValueError when shapes or dtypes differ from these, when a parent does not come before
    its child, or when two children of one node carry the same token (the walk would be ambiguous).
    """

    token_ids: Tensor
    parents: Tensor
    log_weights: Tensor

    def __post_init__(self) -> None:
        nodes = (self.token_ids.numel(),)
        for name, dtype in (
            ("token_ids", torch.int64),
            ("parents", torch.int64),
            ("log_weights", torch.float64),
        ):
            tensor: Tensor = getattr(self, name)
            if tuple(tensor.shape) != nodes or tensor.dtype != dtype:
                raise ValueError(
                    f"{name} is {tensor.dtype} {tuple(tensor.shape)}: want {dtype} {nodes}"
                )
        parents: list[int] = self.parents.tolist()
        if not parents or parents[0] != -1:
            raise ValueError("node 0 must be the root, with parent -1")
        if not all(0 <= parent < node for node, parent in enumerate(parents[1:], start=1)):
            raise ValueError("a parent must come before its children, and only node 0 has none")
        if len(children(self)) != len(parents) - 1:
            raise ValueError("two children of one node carry the same token")


def children(tree: DraftTree) -> dict[tuple[int, int], int]:
    """(parent node, token) -> node, for every node but the root."""
    pairs = zip(tree.parents.tolist(), tree.token_ids.tolist(), strict=True)
    return {pair: node for node, pair in enumerate(pairs) if node > 0}


def depths(tree: DraftTree) -> Tensor:
    """(nodes,) int64: drafted tokens on the path to each node; the root has 0."""
    depth: list[int] = [0]
    for parent in tree.parents.tolist()[1:]:
        depth.append(depth[parent] + 1)
    return torch.tensor(depth)


def ancestor_mask(tree: DraftTree) -> Tensor:
    """(nodes, nodes) bool: [i, j] is True when node i may attend to node j.

    That is i itself and its ancestors. All nodes also see the whole past, which is not in here.
    """
    mask = torch.eye(tree.parents.numel(), dtype=torch.bool)
    rows = mask.numpy()  # the same memory; a row costs a tenth of a tensor operation
    for node, parent in enumerate(tree.parents.tolist()):
        if node > 0:
            rows[node] |= rows[parent]
    return mask


def build_tree(
    root_token: int, top_log_probs: Tensor, top_token_ids: Tensor, budget: int
) -> DraftTree:
    """The `budget` most probable prefixes of the drafter's product distribution, as a tree.

    A heap pops the best prefix not yet taken, then offers its next sibling and its first child.
    Nodes stand in the order they were popped, so a smaller budget gives the first nodes of a larger
    one. Equal weights go by their ranks along the path, compared as a tuple: a prefix before what
    extends it, then the lower rank.

    Args:
        root_token: the last emitted token; not counted in the budget.
        top_log_probs: (L, K) log-probabilities normalised over the whole vocabulary, best first.
        top_token_ids: (L, K) the tokens they belong to.
        budget: nodes below the root. Fewer come back only when L and K allow no more.

    Raises ValueError for a budget below 1, unequal shapes, NaN, or a row that is not best first.
    """
    if budget < 1:
        raise ValueError(f"budget {budget}: want at least one node below the root")
    if top_log_probs.dim() != 2 or top_log_probs.shape != top_token_ids.shape:
        raise ValueError(
            f"shapes {tuple(top_log_probs.shape)} and {tuple(top_token_ids.shape)}: want (L, K)"
        )
    log_probs: list[list[float]] = top_log_probs.tolist()  # Python adds in float64
    tokens: list[list[int]] = top_token_ids.tolist()
    for row in log_probs:
        if any(map(math.isnan, row)) or row != sorted(row, reverse=True):
            raise ValueError(f"log-probabilities must be numbers, best first: {row}")

    token_ids, parents, log_weights = [root_token], [-1], [0.0]
    candidates: list[tuple[float, tuple[int, ...], int]] = []  # (-weight, ranks, parent node)

    def offer(parent: int, ranks: tuple[int, ...]) -> None:
        depth, rank = len(ranks), ranks[-1]
        if depth <= len(log_probs) and rank < len(log_probs[depth - 1]):
            # Parent first, then this depth: the same float64 whichever way a node is reached.
            weight = log_weights[parent] + log_probs[depth - 1][rank]
            heapq.heappush(candidates, (-weight, ranks, parent))

    offer(0, (0,))
    while candidates and len(token_ids) <= budget:
        negative_weight, ranks, parent = heapq.heappop(candidates)
        node = len(token_ids)
        token_ids.append(tokens[len(ranks) - 1][ranks[-1]])
        parents.append(parent)
        log_weights.append(-negative_weight)
        offer(parent, (*ranks[:-1], ranks[-1] + 1))
        offer(node, (*ranks, 0))
    return DraftTree(
        torch.tensor(token_ids),
        torch.tensor(parents),
        torch.tensor(log_weights, dtype=torch.float64),
    )
