from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ddbench.predict.replay import Grid, replay
from ddbench.reference.tree import build_tree, children
from ddbench.reference.verify import linear_accept

GRID = Grid(topks=(1, 2, 4, 6), budgets=(1, 2, 3, 5, 8, 13, 21, 34))


def steps_by_reference(drafts: Any, budget: int, topk: int) -> int:
    """By ddbench.reference's own tree, walked along the answer."""
    output, end = drafts.output_ids.tolist(), len(drafts.output_ids) - 1
    at = steps = 0
    while at < end:
        tree = build_tree(
            output[at],
            torch.tensor(drafts.log_probs[at, :, :topk]),
            torch.tensor(drafts.token_ids[at, :, :topk], dtype=torch.int64),
            budget,
        )
        child, node, accepted = children(tree), 0, 0
        while at + accepted < end and (node, output[at + accepted + 1]) in child:
            node = child[node, output[at + accepted + 1]]
            accepted += 1
        at = min(at + accepted + 1, end)
        steps += 1
    return steps


@pytest.mark.parametrize("seed", range(4))
def test_replay_takes_the_steps_of_plain_trees(
    drafts_of: Callable[..., Any], steps_by_heap: Callable[..., Any], seed: int
) -> None:
    drafts = drafts_of(seed, positions=50)

    replayed = replay(drafts.token_ids, drafts.log_probs, drafts.output_ids, GRID)

    assert replayed.verify_steps.tolist() == [
        [steps_by_heap(drafts, budget, topk) for budget in GRID.budgets] for topk in GRID.topks
    ]
    assert not replayed.cut_steps.any()


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 6), st.integers(1, 40))
@settings(deadline=None, max_examples=60)
def test_replay_takes_the_steps_of_reference_trees(
    drafts_of: Callable[..., Any], seed: int, positions: int, topk: int, budget: int
) -> None:
    drafts = drafts_of(seed, positions=positions)

    replayed = replay(
        drafts.token_ids, drafts.log_probs, drafts.output_ids, Grid((topk,), (budget,))
    )

    assert replayed.verify_steps.item() == steps_by_reference(drafts, budget, topk)


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_of_full_depth_is_the_linear_draft(
    drafts_of: Callable[..., Any], seed: int
) -> None:
    drafts = drafts_of(seed, positions=50)
    depth, end = drafts.token_ids.shape[1], len(drafts.output_ids) - 1
    padded = torch.tensor([*drafts.output_ids.tolist(), *[-1] * depth])
    at = steps = 0
    while at < end:
        best = torch.tensor(drafts.token_ids[at, :, 0], dtype=torch.int64)
        accepted, _ = linear_accept(best, padded[at + 1 : at + depth + 2])
        at, steps = at + accepted + 1, steps + 1

    replayed = replay(drafts.token_ids, drafts.log_probs, drafts.output_ids, Grid((1,), (depth,)))

    assert replayed.verify_steps.item() == steps


def test_an_answer_of_one_token_takes_no_step(drafts_of: Callable[..., Any]) -> None:
    drafts = drafts_of(0, positions=1)

    replayed = replay(drafts.token_ids[:0], drafts.log_probs[:0], drafts.output_ids[:1], GRID)

    assert not replayed.verify_steps.any()


def test_replay_does_not_average_over_positions(drafts_of: Callable[..., Any]) -> None:
    """Steps start where the one before failed, which is not where a position is on average."""
    drafts = drafts_of(0, positions=600)
    path_is_best = (
        drafts.token_ids[:, :, 0]
        == np.lib.stride_tricks.sliding_window_view(
            np.concatenate((drafts.output_ids[1:], np.full(5, -1))), 5
        )[:600]
    )
    mean_commit = 1 + path_is_best.cumprod(axis=1).sum(axis=1).mean()

    steps = replay(drafts.token_ids, drafts.log_probs, drafts.output_ids, Grid((1,), (5,)))

    tokens_per_step = 600 / steps.verify_steps.item()
    assert abs(tokens_per_step / mean_commit - 1) > 0.01


def test_more_ranks_than_were_recorded_are_exact_or_said_to_be_uncertain(
    drafts_of: Callable[..., Any], steps_by_heap: Callable[..., Any]
) -> None:
    certain = uncertain = 0
    for seed in range(20):
        full = drafts_of(seed, positions=20, topk=6)
        grid = Grid((3, 6), (2, 4, 8, 16))

        replayed = replay(full.token_ids[:, :, :3], full.log_probs[:, :, :3], full.output_ids, grid)

        assert not replayed.cut_steps[0].any()
        for column, budget in enumerate(grid.budgets):
            if replayed.cut_steps[1, column]:
                uncertain += 1
            else:
                certain += 1
                assert replayed.verify_steps[1, column] == steps_by_heap(full, budget, 6)
    assert certain > 10
    assert uncertain > 10
