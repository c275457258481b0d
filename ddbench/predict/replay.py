"""How many verify steps an answer would have taken under settings that were not run.

At temperature 0 verification is lossless: every budget and topk writes the same answer, and what
the drafter offers depends on the text before it only. So with the drafts of *every* position a
setting can be replayed exactly: from a position, accept the longest part of the answer that its
tree holds, commit that and the bonus token, go on from there. A step lands where the step before it
ended, so positions are not visited alike: right after a failure they are harder. A plain mean over
positions forgets that and promises too much.

The end of the answer cuts the last step. How deep its walk would have gone lies behind the text and
is not determined.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddbench.predict.heaps import LogProbs
from ddbench.predict.pop_ranks import first_cut, path_ranks, pop_ranks

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The trees to replay: every topk with every budget. Linear drafts are topk 1, budget L."""

    topks: tuple[int, ...]
    budgets: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """One answer under every setting of a grid; arrays are (topks, budgets).

    verify_steps: as SGLang's spec_verify_ct.
    cut_steps: those whose tree may differ since more ranks were asked for than were recorded.
    """

    verify_steps: Counts
    cut_steps: Counts


def replay(
    token_ids: NDArray[np.int32], log_probs: LogProbs, output_ids: Sequence[int], grid: Grid
) -> Replayed:
    """Replay one answer.

    Args:
        token_ids, log_probs: (P, L, K), the drafts of every position, best first.
        output_ids: (P + 1,) the answer; it ends in an end-of-text token or at its limit.

    A topk above K is replayed with K, and its cut_steps say where that might matter.
    """
    depth_limit, recorded = token_ids.shape[1:]
    budgets = np.asarray(grid.budgets)
    steps = np.zeros((len(grid.topks), budgets.size), dtype=np.int64)
    cut_steps = np.zeros_like(steps)
    if token_ids.shape[0] == 0:
        return Replayed(steps, cut_steps)
    path = path_ranks(token_ids, np.asarray(output_ids, dtype=np.int32))
    most = int(budgets.max())
    cut = None
    if max(grid.topks) > recorded:
        cut = first_cut(log_probs, budget=most)[:, None] <= budgets  # (P, budgets)
    at_recorded = None  # every topk above K is the same pass
    for row, topk in enumerate(grid.topks):
        if topk >= recorded and at_recorded is not None:
            depths = at_recorded
        else:
            ranks = pop_ranks(log_probs, path, topk=min(topk, recorded), budget=most)
            depths = np.zeros((ranks.shape[0], budgets.size), dtype=np.int16)
            for level in range(depth_limit):
                depths += ranks[:, level, None] <= budgets
            if topk >= recorded:
                at_recorded = depths
        steps[row], cut_steps[row] = _walk(depths, cut if topk > recorded else None)
    return Replayed(steps, cut_steps)


def _walk(depths: NDArray[np.int16], cut: NDArray[np.bool_] | None) -> tuple[Counts, Counts]:
    """Steps and cut steps of each budget. depths: (P, budgets), what a step from there accepts."""
    end, budgets = depths.shape
    setting = np.arange(budgets)
    at = np.zeros(budgets, dtype=np.int64)
    steps = np.zeros(budgets, dtype=np.int64)
    cut_steps = np.zeros(budgets, dtype=np.int64)
    while setting.size:
        steps[setting] += 1
        if cut is not None:
            cut_steps[setting] += cut[at[setting], setting]
        at[setting] += depths[at[setting], setting] + 1
        setting = setting[at[setting] < end]
    return steps, cut_steps
