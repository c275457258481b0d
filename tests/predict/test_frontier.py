from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ddbench.predict.frontier import smallest_gap
from ddbench.predict.replay import Grid, replay

NUDGE = 1e-6


def test_finds_the_tie_between_the_last_node_that_fits_and_the_first_that_does_not() -> None:
    token_ids = np.array([[[1, 2], [3, 4]]], dtype=np.int32)
    log_probs = np.log(np.array([[[0.6, 0.3], [0.5, 0.4]]])).astype(np.float32)

    gap, position = smallest_gap(token_ids, log_probs, [9, 1], budget=1, topk=2)

    # the root's children weigh .6 and .3, and 1-3 weighs .6 * .5 = .3
    assert (gap, position) == (pytest.approx(np.log(0.6) - np.log(0.3), abs=1e-6), 0)
    exact, _ = smallest_gap(token_ids, log_probs, [9, 1], budget=2, topk=2)
    assert exact < 1e-6


def test_finds_the_tie_between_the_last_candidate_kept_and_the_next() -> None:
    token_ids = np.array([[[1, 2, 3]]], dtype=np.int32)
    log_probs = np.array([[[-0.5, -1.5, -1.5 - 2 * NUDGE]]], dtype=np.float32)

    gap, _ = smallest_gap(token_ids, log_probs, [9, 1], budget=2, topk=2)

    assert gap == pytest.approx(2 * NUDGE, rel=0.2)


@pytest.mark.parametrize("seed", range(10))
def test_drafts_that_move_by_less_than_the_gap_take_the_same_steps(
    drafts_of: Callable[..., Any], seed: int
) -> None:
    drafts = drafts_of(seed, positions=30)
    grid = Grid((3,), (9,))
    gap, _ = smallest_gap(drafts.token_ids, drafts.log_probs, drafts.output_ids, budget=9, topk=3)
    rng = np.random.default_rng(seed)
    moved = drafts.log_probs + rng.uniform(-gap / 12, 0, drafts.log_probs.shape)  # 5 a path
    moved = -np.sort(-moved, axis=2).astype(np.float32)

    before = replay(drafts.token_ids, drafts.log_probs, drafts.output_ids, grid)
    after = replay(drafts.token_ids, moved, drafts.output_ids, grid)

    assert before.verify_steps == after.verify_steps
