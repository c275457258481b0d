"""Predicted verify steps of every recorded prompt, over a grid of trees."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ddbench.predict.recorded import RecordedPrompt
from ddbench.predict.replay import Counts, Grid, replay


@dataclass(frozen=True, slots=True, eq=False)
class Acceptance:
    """Predicted verify steps of every prompt under every tree of a grid, (P, topks, budgets)."""

    grid: Grid
    verify_steps: Counts
    cut_steps: Counts

    def steps(self, budget: int, topk: int) -> Counts:
        """(P,) of one tree, which must be in the grid."""
        steps: Counts = self.verify_steps[
            :, self.grid.topks.index(topk), self.grid.budgets.index(budget)
        ]
        return steps

    def cut_share(self, budget: int, topk: int) -> float:
        """The part of all steps in which ranks that were not recorded might have mattered."""
        cell = self.grid.topks.index(topk), self.grid.budgets.index(budget)
        total = self.verify_steps[:, *cell].sum()
        return float(self.cut_steps[:, *cell].sum() / total) if total else 0.0


def acceptance(prompts: Sequence[RecordedPrompt], grid: Grid) -> Acceptance:
    """Replay every prompt, one after another: memory holds the drafts of one at a time."""
    steps = np.zeros((len(prompts), len(grid.topks), len(grid.budgets)), dtype=np.int64)
    cut_steps = np.zeros_like(steps)
    for row, prompt in enumerate(prompts):
        replayed = replay(*prompt.drafts(), prompt.output_ids, grid)
        steps[row], cut_steps[row] = replayed.verify_steps, replayed.cut_steps
    return Acceptance(grid, steps, cut_steps)
