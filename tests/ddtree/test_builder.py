"""The tree builder that the series brings to SGLang, against enumeration of every path.

SGLang's wheel has no tests of its own package, so those of the series are here.
"""

import itertools
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ddbench.reference.tree import build_tree
from ddbench.sglang_plugin import stand_in_folder

Loader = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def tree(created_module: Loader) -> ModuleType:
    return created_module("sglang/srt/speculative/ddtree_tree.py")


Node = tuple[int, int, float]  # token, parent, weight


def heaviest_paths(
    log_probs: list[list[float]], tokens: list[list[int]], budget: int
) -> list[Node]:
    """All paths, sorted; nothing of the builder's method."""
    depth_limit, topk = len(log_probs), len(log_probs[0])
    paths: list[tuple[float, tuple[int, ...]]] = []
    for depth in range(1, depth_limit + 1):
        for ranks in itertools.product(range(topk), repeat=depth):
            weight = 0.0
            for level, rank in enumerate(ranks):
                weight += log_probs[level][rank]
            paths.append((-weight, ranks))
    kept = sorted(paths)[:budget]
    place = {ranks: node for node, (_, ranks) in enumerate(kept, start=1)} | {(): 0}
    return [
        (tokens[len(ranks) - 1][ranks[-1]], place[ranks[:-1]], -negative)
        for negative, ranks in kept
    ]


def nodes_of(trees: tuple[Tensor, Tensor, Tensor], row: int) -> list[Node]:
    return list(zip(*(part[row].tolist() for part in trees), strict=True))


@st.composite
def drafts(draw: st.DrawFn) -> tuple[Tensor, int]:
    """Log-probabilities (requests, L, K), best first and full of ties, and a budget that fits."""
    requests = draw(st.integers(1, 3))
    depth_limit, topk = draw(st.sampled_from([(1, 4), (2, 3), (3, 1), (3, 3), (4, 2), (6, 2)]))
    values = st.sampled_from([0.0, -0.25, -0.5, -0.1, -1.7, -3.0, float("-inf")])
    row = st.lists(values, min_size=topk, max_size=topk).map(lambda r: sorted(r, reverse=True))
    log_probs = [[draw(row) for _ in range(depth_limit)] for _ in range(requests)]
    most = sum(topk**depth for depth in range(1, depth_limit + 1))
    return torch.tensor(log_probs), draw(st.integers(1, most))


@settings(deadline=None, max_examples=150)
@given(drafted=drafts())
def test_a_tree_holds_the_heaviest_paths_ties_by_their_ranks(
    tree: ModuleType, drafted: tuple[Tensor, int]
) -> None:
    log_probs, budget = drafted
    tokens = torch.arange(log_probs.numel()).view(log_probs.shape) + 100

    trees = tree.build_trees(log_probs, tokens, budget)

    for row in range(log_probs.shape[0]):
        expected = heaviest_paths(log_probs[row].tolist(), tokens[row].tolist(), budget)
        assert nodes_of(trees, row) == expected


def test_a_smaller_budget_gives_the_first_nodes_of_a_larger_one(tree: ModuleType) -> None:
    logits = torch.randn(4, 15, 64, generator=torch.Generator().manual_seed(1)).round()
    log_probs, tokens = torch.log_softmax(logits, dim=-1).topk(8, dim=-1)

    large = tree.build_trees(log_probs, tokens, 63)
    small = tree.build_trees(log_probs, tokens, 7)

    assert all(torch.equal(s, part[:, :7]) for s, part in zip(small, large, strict=True))


def test_with_one_candidate_a_tree_is_a_chain(tree: ModuleType) -> None:
    log_probs, tokens = torch.log_softmax(torch.randn(2, 7, 9), dim=-1).topk(1, dim=-1)

    trees = tree.build_trees(log_probs, tokens, 5)

    assert torch.equal(trees.tokens, tokens[:, :5, 0])
    assert trees.parents.tolist() == [[0, 1, 2, 3, 4]] * 2


def test_rank_tuples_too_long_for_one_key_are_still_compared_whole(tree: ModuleType) -> None:
    log_probs = torch.zeros(1, 40, 8)  # 40 ranks of 9 values: 127 bits, and every weight is equal
    tokens = torch.arange(8).expand(1, 40, 8)

    trees = tree.build_trees(log_probs, tokens, 60)

    expected = build_tree(0, log_probs[0], tokens[0], 60)
    assert torch.equal(trees.parents[0], expected.parents[1:])
    assert torch.equal(trees.tokens[0], expected.token_ids[1:])


class _Ranks:
    """all_gather between threads, as tensor-parallel ranks meet in it."""

    def __init__(self, count: int) -> None:
        self.world_size = count
        self._barrier = threading.Barrier(count, timeout=60)
        self._parts: dict[int, Tensor] = {}
        self._rank = threading.local()

    def run(self, work: Callable[[int], object]) -> list[object]:
        results: dict[int, object] = {}

        def rank(index: int) -> None:
            self._rank.index = index
            results[index] = work(index)

        threads = [threading.Thread(target=rank, args=(i,)) for i in range(self.world_size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [results[index] for index in range(self.world_size)]

    def all_gather(self, part: Tensor, dim: int) -> Tensor:
        self._parts[self._rank.index] = part
        self._barrier.wait()
        gathered = torch.cat([self._parts[i] for i in range(self.world_size)], dim=dim)
        self._barrier.wait()
        return gathered


def _shard(weight: Tensor, first: int, count: int, padded: int, added: slice) -> SimpleNamespace:
    """A rank's rows: its base vocabulary, padding that must never win, its added vocabulary."""
    padding = torch.full((padded - count, weight.shape[1]), 1e3)
    rows = torch.cat([weight[first : first + count], padding, weight[added]])
    return SimpleNamespace(
        weight=rows,
        shard_indices=SimpleNamespace(
            num_org_elements=count,
            num_org_elements_padded=padded,
            org_vocab_start_index=first,
            num_added_elements=added.stop - added.start,
            added_vocab_start_index=added.start,
        ),
    )


@pytest.mark.parametrize("topk", [1, 4, 9])
def test_every_rank_of_a_split_head_finds_the_tokens_of_the_whole_one(
    tree: ModuleType, monkeypatch: pytest.MonkeyPatch, topk: int
) -> None:
    utils = SimpleNamespace(is_dense_head_weight=lambda weight: weight is not None)
    monkeypatch.setitem(sys.modules, "sglang.srt.speculative.dflash_utils", utils)  # type: ignore[arg-type]
    weight = torch.randn(23, 6, generator=torch.Generator().manual_seed(2))
    hidden = torch.randn(5, 6, generator=torch.Generator().manual_seed(3)).abs()
    # Base vocabulary 0..19 as 12 + 8, added tokens 20..22 as 2 + 1.
    shards = [
        _shard(weight, 0, 12, 14, slice(20, 22)),
        _shard(weight, 12, 8, 14, slice(22, 23)),
    ]
    ranks = _Ranks(2)

    found = ranks.run(lambda index: tree.draft_top_k(hidden, shards[index], topk, ranks))

    expected = torch.log_softmax(hidden @ weight.T, dim=-1).topk(topk, dim=-1)
    for log_probs, tokens in found:  # type: ignore[attr-defined]
        assert torch.equal(tokens, expected.indices)
        assert torch.allclose(log_probs, expected.values, atol=1e-5)


@pytest.mark.parametrize("mask_mode", [0, 1], ids=["FULL_MASK", "QLEN_ONLY"])
def test_the_verify_kernel_reads_back_the_tree_that_was_built(
    tree: ModuleType, monkeypatch: pytest.MonkeyPatch, mask_mode: int
) -> None:
    monkeypatch.setenv("DDBENCH_SGLANG_CPU", "1")
    monkeypatch.syspath_prepend(str(stand_in_folder()))
    from sgl_kernel import build_tree_kernel_efficient_cpu

    requests, budget, prefix_lens = 3, 12, [4, 0, 9]
    log_probs, tokens = torch.log_softmax(torch.randn(requests, 4, 20), dim=-1).topk(3, dim=-1)
    parents = tree.build_trees(log_probs, tokens, budget).parents
    parent_list, selected, topk = tree.as_eagle_candidates(parents, 4)
    nodes = budget + 1
    columns = [nodes + (length if mask_mode == 0 else 0) for length in prefix_lens]
    mask = torch.ones(nodes * sum(columns), dtype=torch.bool)
    positions = torch.zeros(requests * nodes, dtype=torch.int64)
    links = torch.full((3, requests, nodes), -1)

    build_tree_kernel_efficient_cpu(
        parent_list,
        selected,
        torch.tensor(prefix_lens),
        mask,
        positions,
        *links,
        topk=topk,
        depth=4,
        draft_token_num=nodes,
        tree_mask_mode=mask_mode,
    )

    assert parent_list.shape[1] == topk * 3 + 1  # what SGLang's CUDA kernel asks for
    start = 0
    for request, prefix_len in enumerate(prefix_lens):
        above = [-1, *parents[request].tolist()]
        end = start + nodes * columns[request]
        block = mask[start:end].view(nodes, columns[request])[:, -nodes:]
        start = end
        for node in range(nodes):
            path = [node]
            while path[-1] != 0:
                path.append(above[path[-1]])
            assert block[node].nonzero().flatten().tolist() == sorted(path)
            assert positions[request * nodes + node] == prefix_len + len(path) - 1
            children = [child for child in range(nodes) if above[child] == node]
            assert _listed(links[1, request, node].item(), links[2, request]) == children


def _listed(first: int | float, next_sibling: Tensor) -> list[int]:
    found: list[int] = []
    node = int(first)
    while node != -1:
        found.append(node)
        node = int(next_sibling[node])
    return found
