"""Trees of the stand-in against ddbench.reference, which shares no code with it."""

import importlib
from itertools import pairwise
from types import ModuleType

import pytest
import torch
from torch import Tensor

from ddbench.reference.tree import DraftTree, ancestor_mask, depths
from ddbench.reference.verify import greedy_walk

QLEN_ONLY, FULL_MASK = 1, 0


def random_tree(nodes: int, rng: torch.Generator, *, vocab: int = 6) -> DraftTree:
    """Parents before children, and no two children of a node with one token."""
    parents, tokens, taken = [-1], [0], set()
    while len(parents) < nodes:
        parent = int(torch.randint(len(parents), (1,), generator=rng))
        token = int(torch.randint(vocab, (1,), generator=rng))
        if (parent, token) not in taken:
            taken.add((parent, token))
            parents.append(parent)
            tokens.append(token)
    return DraftTree(
        torch.tensor(tokens), torch.tensor(parents), torch.zeros(nodes, dtype=torch.float64)
    )


def links(tree: DraftTree) -> tuple[list[int], list[int]]:
    """First child and next sibling of each node, -1 for none."""
    parents = tree.parents.tolist()
    children = [[n for n, p in enumerate(parents) if p == node] for node in range(len(parents))]
    first = [below[0] if below else -1 for below in children]
    following = [-1] * len(parents)
    for below in children:
        for node, sibling in pairwise(below):
            following[node] = sibling
    return first, following


def rows(requests: int, nodes: int, fill: int) -> Tensor:
    return torch.full((requests, nodes), fill)


@pytest.mark.parametrize("seed", range(10))
def test_the_walk_is_the_references(sgl_kernel: ModuleType, seed: int) -> None:
    rng = torch.Generator().manual_seed(seed)
    trees = [random_tree(12, rng) for _ in range(3)]
    choices = torch.randint(6, (3, 12), generator=rng)
    first, following = map(torch.tensor, zip(*map(links, trees), strict=True))
    predicts = torch.full((36,), -7, dtype=torch.int32)
    accept_index = torch.full((3, 12), -1, dtype=torch.int32)
    accepted_counts = torch.zeros(3, dtype=torch.int32)

    sgl_kernel.verify_tree_greedy_cpu(
        predicts=predicts,
        accept_index=accept_index,
        accept_token_num=accepted_counts,
        candidates=torch.stack([tree.token_ids for tree in trees]),
        retrive_index=torch.arange(36).view(3, 12),
        retrive_next_token=first,
        retrive_next_sibling=following,
        target_predict=choices,
    )

    for request, tree in enumerate(trees):
        accepted, bonus = greedy_walk(tree, choices[request])
        path = [request * 12 + node for node in [0, *accepted]]
        assert accept_index[request].tolist() == path + [-1] * (12 - len(path))
        assert accepted_counts[request] == len(accepted)
        assert predicts[path].tolist() == [*tree.token_ids[accepted].tolist(), bonus]


def test_the_walk_stops_where_the_output_ends(sgl_kernel: ModuleType) -> None:
    chain = torch.arange(5)[None]
    accept_index = torch.full((1, 3), -1)
    count = torch.zeros(1, dtype=torch.int32)

    sgl_kernel.verify_tree_greedy_cpu(
        torch.zeros(5, dtype=torch.int64),
        accept_index,
        count,
        chain,
        chain,
        torch.tensor([[1, 2, 3, 4, -1]]),
        rows(1, 5, -1),
        torch.tensor([[1, 2, 3, 4, 5]]),
    )

    assert accept_index.tolist() == [[0, 1, 2]]
    assert count.item() == 2


@pytest.mark.parametrize("seed", range(10))
def test_links_and_positions_come_back_from_the_mask(sgl_kernel: ModuleType, seed: int) -> None:
    speculative = importlib.import_module(f"{sgl_kernel.__name__}.speculative")
    rng = torch.Generator().manual_seed(seed)
    trees = [random_tree(9, rng) for _ in range(2)]
    prefix_lens = torch.tensor([5, 0])
    positions, index = torch.zeros(18, dtype=torch.int64), rows(2, 9, 0)
    first, following = rows(2, 9, -5), rows(2, 9, -5)

    speculative.reconstruct_indices_from_tree_mask(
        torch.cat([ancestor_mask(tree).flatten() for tree in trees]),
        prefix_lens,
        positions,
        index,
        first,
        following,
        2,
        9,
    )

    assert index.tolist() == torch.arange(18).view(2, 9).tolist()
    for request, tree in enumerate(trees):
        assert (first[request].tolist(), following[request].tolist()) == links(tree)
        expected = depths(tree) + prefix_lens[request]
        assert positions.view(2, 9)[request].tolist() == expected.tolist()


def test_nodes_without_ancestors_are_no_siblings(sgl_kernel: ModuleType) -> None:
    """They have no parent in common: having none is not sharing one."""
    speculative = importlib.import_module(f"{sgl_kernel.__name__}.speculative")
    positions, index = torch.zeros(3, dtype=torch.int64), rows(1, 3, 0)
    first, following = rows(1, 3, 0), rows(1, 3, 0)

    speculative.reconstruct_indices_from_tree_mask(
        torch.eye(3, dtype=torch.bool), torch.tensor([4]), positions, index, first, following, 1, 3
    )

    assert following.tolist() == [[-1, -1, -1]]
    assert first.tolist() == [[-1, -1, -1]]
    assert positions.tolist() == [4, 4, 4]


def eagle_candidates(
    topk: int, steps: int, rng: torch.Generator
) -> tuple[list[int], dict[int, int]]:
    """EAGLE's numbering: parent_list (a candidate for each group of topk) and child -> parent.

    Step 0 draws candidates 0..topk-1 from the root (-1); each later step lets topk candidates of
    the step before grow topk new ones each.
    """
    parent_list, parent_of = [-1], dict.fromkeys(range(topk), -1)
    grown = list(range(topk))
    for _ in range(1, steps):
        chosen = [grown[i] for i in torch.randperm(len(grown), generator=rng)[:topk].tolist()]
        grown = []
        for parent in chosen:
            group = len(parent_list)
            parent_list.append(parent)
            grown += range(group * topk, (group + 1) * topk)
            parent_of |= dict.fromkeys(range(group * topk, (group + 1) * topk), parent)
    return parent_list, parent_of


def closed_selection(parent_of: dict[int, int], count: int, rng: torch.Generator) -> list[int]:
    """`count` candidates whose parents are selected too, in the order of their numbers."""
    selected: set[int] = set()
    while len(selected) < count:
        offered = sorted(
            c for c, p in parent_of.items() if c not in selected and (p == -1 or p in selected)
        )
        selected.add(offered[int(torch.randint(len(offered), (1,), generator=rng))])
    return sorted(selected)


@pytest.mark.parametrize("mode", [QLEN_ONLY, FULL_MASK])
@pytest.mark.parametrize("seed", range(5))
def test_eagles_trees_are_built_as_they_were_drawn(
    sgl_kernel: ModuleType, seed: int, mode: int
) -> None:
    rng = torch.Generator().manual_seed(seed)
    topk, steps, nodes, prefix_lens = 3, 4, 9, [4, 0, 7]
    drawn = [eagle_candidates(topk, steps, rng) for _ in prefix_lens]
    selections = [closed_selection(parent_of, nodes - 1, rng) for _, parent_of in drawn]
    trees = []
    for (_, parent_of), selected in zip(drawn, selections, strict=True):
        place = {candidate: node for node, candidate in enumerate(selected, start=1)} | {-1: 0}
        parents = torch.tensor([-1, *(place[parent_of[c]] for c in selected)])
        trees.append(
            DraftTree(torch.arange(nodes), parents, torch.zeros(nodes, dtype=torch.float64))
        )
    prefix_width = prefix_lens if mode == FULL_MASK else [0, 0, 0]
    mask = torch.ones(sum(nodes * (width + nodes) for width in prefix_width), dtype=torch.bool)
    positions = torch.zeros(3 * nodes, dtype=torch.int64)
    index, first, following = rows(3, nodes, -1), rows(3, nodes, -1), rows(3, nodes, -1)

    sgl_kernel.build_tree_kernel_efficient_cpu(
        torch.tensor([parent_list for parent_list, _ in drawn]),
        torch.tensor(selections),
        torch.tensor(prefix_lens),
        mask,
        positions,
        index,
        first,
        following,
        topk,
        steps,
        nodes,
        mode,
    )

    expected_masks = [
        torch.cat([torch.ones(nodes, width, dtype=torch.bool), ancestor_mask(tree)], dim=1)
        for width, tree in zip(prefix_width, trees, strict=True)
    ]
    assert torch.equal(mask, torch.cat([expected.flatten() for expected in expected_masks]))
    assert index.flatten().tolist() == list(range(3 * nodes))
    for request, tree in enumerate(trees):
        assert (first[request].tolist(), following[request].tolist()) == links(tree)
        expected = depths(tree) + prefix_lens[request]
        assert positions.view(3, nodes)[request].tolist() == expected.tolist()
