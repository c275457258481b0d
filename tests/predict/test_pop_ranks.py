from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ddbench.predict.pop_ranks import NEVER, first_cut, path_ranks, pop_ranks

MOST = 40

coarse_rows = arrays(np.int8, (6, 3, 4), elements=st.integers(-5, 0))
"""Log-probabilities in steps of a half: most trees of these have ties."""


def expected(tree: dict[tuple[int, ...], int], path: list[int]) -> list[int]:
    return [tree.get(tuple(path[: depth + 1]), NEVER) for depth in range(len(path))]


@pytest.mark.parametrize("topk", [1, 2, 3, 6])
@pytest.mark.parametrize("seed", range(4))
def test_every_path_node_has_the_pop_of_a_plain_builder(
    drafts_of: Callable[..., Any], heap_tree: Callable[..., Any], seed: int, topk: int
) -> None:
    drafts = drafts_of(seed, positions=60)
    path = path_ranks(drafts.token_ids, drafts.output_ids)

    ranks = pop_ranks(drafts.log_probs, path, topk=topk, budget=MOST)

    for position, rows in enumerate(drafts.log_probs.tolist()):
        tree = heap_tree(rows, MOST, topk)
        assert ranks[position].tolist() == expected(tree, path[position].tolist())


@given(coarse_rows, arrays(np.int32, (6, 3), elements=st.integers(0, 4)), st.integers(1, 4))
@settings(deadline=None, max_examples=150)
def test_ties_go_by_the_ranks_along_the_path(
    sorted_tree: Callable[..., Any], steps: Any, path: Any, topk: int
) -> None:
    log_probs = -np.sort(-steps, axis=2).astype(np.float32) / 2

    ranks = pop_ranks(log_probs, path, topk=topk, budget=MOST)

    for position, rows in enumerate(log_probs.tolist()):
        tree = sorted_tree(rows, MOST, topk)
        assert ranks[position].tolist() == expected(tree, path[position].tolist())


def test_the_order_of_a_small_topk_is_not_a_part_of_that_of_a_large_one(
    drafts_of: Callable[..., Any],
) -> None:
    """Striking out of one order what topk forbids, after its budget was spent, is another tree."""
    drafts = drafts_of(3, positions=400)
    path = path_ranks(drafts.token_ids, drafts.output_ids)
    within = np.where((path < 2).cumprod(axis=1, dtype=bool), NEVER, 0)

    capped = pop_ranks(drafts.log_probs, path, topk=2, budget=MOST)
    struck_out = np.maximum(pop_ranks(drafts.log_probs, path, topk=6, budget=MOST), NEVER - within)

    differs = ((capped <= 12) != (struck_out <= 12)).any(axis=1)
    assert differs.mean() > 0.05


def test_the_drafter_ranks_what_the_answer_holds() -> None:
    token_ids = np.array([[[5, 6], [7, 8]], [[7, 5], [9, 4]]], dtype=np.int32)

    ranks = path_ranks(token_ids, np.array([1, 6, 5], dtype=np.int32))

    assert ranks.tolist() == [[1, 2], [1, 2]]  # 2: not among the two, or behind the end


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_before_its_first_cut_is_that_of_a_larger_topk(
    drafts_of: Callable[..., Any], heap_tree: Callable[..., Any], seed: int
) -> None:
    full = drafts_of(seed, topk=6)

    cut = first_cut(full.log_probs[:, :, :3], budget=MOST)

    for position, rows in enumerate(full.log_probs.tolist()):
        same = min(int(cut[position]), MOST)
        assert heap_tree(rows, same, 6) == heap_tree(rows, same, 3)
        if same < MOST:
            (last,) = [r for r, pop in heap_tree(rows, same, 3).items() if pop == same]
            assert last[-1] == 2


def test_a_tree_that_is_full_stops_there() -> None:
    log_probs = np.log(np.full((1, 2, 2), 0.5, dtype=np.float32))

    found = {
        path: pop_ranks(log_probs, np.array([path], dtype=np.int32), topk=2, budget=MOST).tolist()
        for path in product(range(2), repeat=2)
    }

    assert found == {(0, 0): [[1, 3]], (0, 1): [[1, 4]], (1, 0): [[2, 5]], (1, 1): [[2, 6]]}


def test_weights_are_added_in_double_precision() -> None:
    """Single precision would call all six nodes equal, and go by their ranks alone."""
    log_probs = np.array([[[-8, -8], [-(2.0**-24), -(2.0**-23)]]], dtype=np.float32)

    ranks = pop_ranks(log_probs, np.array([[1, 0]], dtype=np.int32), topk=2, budget=MOST)

    assert ranks.tolist() == [[2, 4]]
