"""Which drafted tokens a target accepts, the slow and obvious way.

Every function returns the accepted drafts and the bonus token: the target's own choice after the
last accepted draft. One step thus emits accepted + 1 tokens, before any cut at end-of-text or at
the length limit, which is the caller's business. The bonus has no KV entry yet; it is the next
step's root.

Sources: the DFlash paper (linear), the DDTree paper's follow_verified_tree (tree).
"""

import torch
from torch import Tensor

from ddbench.reference.tree import DraftTree, children


def linear_accept(drafts: Tensor, target_choice: Tensor) -> tuple[int, int]:
    """Accept drafts up to the first that the target would not have written.

    Args:
        drafts: (L,) int64 drafted tokens, the current token not among them.
        target_choice: (L + 1,) int64; entry i is the target's choice after the current token and
            the first i drafts.

    Returns:
        correct_drafts: 0 to L; the bonus is not counted.
        bonus: target_choice[correct_drafts].

    Raises ValueError when the lengths do not fit.
    """
    if drafts.dim() != 1 or target_choice.shape != (drafts.numel() + 1,):
        raise ValueError(
            f"shapes {tuple(drafts.shape)} and {tuple(target_choice.shape)}: want (L,) and (L+1,)"
        )
    choice: list[int] = target_choice.tolist()
    correct_drafts = 0
    for draft, chosen in zip(drafts.tolist(), choice, strict=False):  # choice is one longer
        if draft != chosen:
            break
        correct_drafts += 1
    return correct_drafts, choice[correct_drafts]


def greedy_walk(tree: DraftTree, target_choice: Tensor) -> tuple[list[int], int]:
    """Follow the target's choices down the tree.

    Args:
        tree: the drafted tree.
        target_choice: (nodes,) int64; entry i is the target's choice after node i.

    Returns:
        accepted: node indices below the root, parent first; may be empty.
        bonus: the target's choice after the last accepted node, or after the root.

    Raises ValueError when there is not one choice a node.
    """
    if target_choice.shape != tree.parents.shape:
        raise ValueError(
            f"{tuple(target_choice.shape)} choices for {tree.parents.numel()} nodes: want (nodes,)"
        )
    choice: list[int] = target_choice.tolist()
    child = children(tree)
    accepted: list[int] = []
    node = 0
    while (next_node := child.get((node, choice[node]))) is not None:
        accepted.append(next_node)
        node = next_node
    return accepted, choice[node]


def sample_and_walk(
    tree: DraftTree, target_logits: Tensor, temperature: float, generator: torch.Generator
) -> tuple[list[int], int]:
    """Sample the target after each visited node and follow the samples down the tree.

    Lossless whatever was drafted: each emitted token is one draw from the target given the tokens
    before it, and the tree only decides how many draws fit into one step. Draws are made at visited
    nodes only, one a node, so a step consumes len(accepted) + 1 draws of the generator.

    Args:
        tree: the drafted tree.
        target_logits: (nodes, vocab); row i is the target's prediction after node i.
        temperature: above 0; logits are divided by it.
        generator: on the device of the logits.

    Returns:
        accepted: node indices below the root, parent first; may be empty.
        bonus: the sample after the last accepted node, or after the root.

    Raises ValueError for a temperature of 0 or less, or when there is not one row a node.
    """
    if temperature <= 0:
        raise ValueError(f"temperature {temperature}: want above 0; at 0 use greedy_walk")
    nodes = tree.parents.numel()
    if target_logits.dim() != 2 or target_logits.shape[0] != nodes:
        raise ValueError(
            f"{tuple(target_logits.shape)} logits for {nodes} nodes: want (nodes, vocab)"
        )
    child = children(tree)
    accepted: list[int] = []
    node = 0
    while True:
        probabilities = torch.softmax(target_logits[node].double() / temperature, dim=-1)
        sample = int(torch.multinomial(probabilities, 1, generator=generator))
        next_node = child.get((node, sample))
        if next_node is None:
            return accepted, sample
        accepted.append(next_node)
        node = next_node
