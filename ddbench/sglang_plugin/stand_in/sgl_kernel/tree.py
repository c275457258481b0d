"""Draft trees as SGLang's EAGLE code keeps them: first child, next sibling, ancestor mask.

Called from sglang/kernels/ops/speculative/spec_tree.py; the Triton kernels there define the
results. Node 0 of a tree is the last token already emitted. Nodes are numbered per request;
`retrieve_index` gives a node its row in the flattened batch.
"""

import torch
from torch import Tensor

FULL_MASK = 0  # sglang's TreeMaskMode; anything else here is QLEN_ONLY
NO_NODE = -1


def build_tree_kernel_efficient_cpu(
    parent_list: Tensor,
    selected_index: Tensor,
    verified_seq_len: Tensor,
    tree_mask: Tensor,  # changed
    positions: Tensor,  # changed
    retrieve_index: Tensor,  # changed
    retrieve_next_token: Tensor,  # changed
    retrieve_next_sibling: Tensor,  # changed
    topk: int,
    depth: int,
    draft_token_num: int,
    tree_mask_mode: int = FULL_MASK,
) -> None:
    """Links, mask and positions of each request's tree, from EAGLE's candidate numbering.

    Args:
        parent_list: (requests, candidates); the candidate that each group of topk grew from.
        selected_index: (requests, nodes - 1); the candidate number of nodes 1, 2, ...
        tree_mask: flat. FULL_MASK: nodes x (prefix + nodes) a request, of which only the last
            `nodes` columns are written; QLEN_ONLY: nodes x nodes a request.
        depth: the longest path that is followed upwards.
    """
    nodes = draft_token_num
    mask_start = 0
    for request, prefix_len in enumerate(verified_seq_len.tolist()):
        parents = _parents(
            parent_list[request].tolist(), selected_index[request].tolist(), topk, nodes
        )
        block = torch.zeros(nodes, nodes, dtype=torch.bool)
        block[:, 0] = True
        for node in range(nodes):
            path = _path_upwards(node, parents, depth)
            block[node, path] = True
            positions.view(-1)[request * nodes + node] = prefix_len + len(path)

        row_length = nodes + (prefix_len if tree_mask_mode == FULL_MASK else 0)
        mask_end = mask_start + nodes * row_length
        rows = tree_mask.view(-1)[mask_start:mask_end].view(nodes, row_length)
        rows[:, -nodes:] = block.to(tree_mask.dtype)
        mask_start = mask_end

        retrieve_index[request] = torch.arange(request * nodes, (request + 1) * nodes)
        _link(parents, retrieve_next_token[request], retrieve_next_sibling[request])


def verify_tree_greedy_cpu(
    predicts: Tensor,  # changed
    accept_index: Tensor,  # changed
    accept_token_num: Tensor,  # changed
    candidates: Tensor,
    retrive_index: Tensor,
    retrive_next_token: Tensor,
    retrive_next_sibling: Tensor,
    target_predict: Tensor,
) -> None:
    """Follow the target's own choice down each tree.

    Args:
        predicts: flat over the batch's rows; set to the target's token at every row of the path.
        accept_index: (requests, longest path + 1) rows of the path, root first; the rest stays.
        accept_token_num: (requests,) accepted drafts, without the bonus token.
        candidates: (requests, nodes) drafted tokens, column 0 the root's.
        target_predict: (requests, nodes) the target's next token after each node.
    """
    choices = target_predict.reshape(-1).tolist()
    for request in range(candidates.shape[0]):
        tokens = candidates[request].tolist()
        rows = retrive_index[request].tolist()
        first_child = retrive_next_token[request].tolist()
        next_sibling = retrive_next_sibling[request].tolist()

        path = [0]
        while len(path) < accept_index.shape[1]:
            wanted = choices[rows[path[-1]]]
            node = first_child[path[-1]]
            while node != NO_NODE and tokens[node] != wanted:
                node = next_sibling[node]
            if node == NO_NODE:
                break
            path.append(node)

        path_rows = [rows[node] for node in path]
        accept_index[request, : len(path)] = torch.tensor(path_rows, dtype=accept_index.dtype)
        accept_token_num[request] = len(path) - 1
        for row in path_rows:
            predicts[row] = choices[row]


def _parents(
    parent_list: list[int], selected: list[int], topk: int, nodes: int
) -> list[int | None]:
    """parents[node]; None for the root, and for a node whose parent was not selected."""
    node_of_candidate = {candidate: place + 1 for place, candidate in enumerate(selected)}
    parents: list[int | None] = [None]
    for node in range(1, nodes):
        group = selected[node - 1] // topk
        parents.append(0 if group == 0 else node_of_candidate.get(parent_list[group]))
    return parents


def _path_upwards(node: int, parents: list[int | None], depth: int) -> list[int]:
    """The node and its ancestors below the root, at most `depth` of them."""
    path: list[int] = []
    current: int | None = node
    while current and len(path) < depth:  # neither the root (0) nor a missing parent (None)
        path.append(current)
        current = parents[current]
    return path


def _link(parents: list[int | None], first_child: Tensor, next_sibling: Tensor) -> None:
    """Children of a node are linked in the order of their numbers."""
    for node in range(len(parents) - 1, 0, -1):
        parent = parents[node]
        if parent is None:
            continue
        if first_child[parent] != NO_NODE:
            next_sibling[node] = first_child[parent]
        first_child[parent] = node
