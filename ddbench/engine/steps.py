"""What one decode step of a batch leaves behind, whichever way it drafted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ddbench.engine.generation import Generation
from ddbench.reference.tree import DraftTree


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """One request's share of a step, before the cut at a stop or the length limit.

    tree: what was verified; without drafts, the root alone.
    accepted: node indices below the root, parent first.
    tokens: the accepted drafts and the bonus, len(accepted) + 1 of them.
    target: the target's choice after each node; None where it made none (drawing, off the path).
    """

    generation: Generation
    prefix_len: int  # cached rows before the step
    tree: DraftTree
    accepted: list[int]
    tokens: list[int]
    target: list[int | None]


class Step(Protocol):
    """Decode one step of every request: write the cache, advance prefix_len, note logprobs."""

    def run(self, generations: Sequence[Generation]) -> list[StepOutcome]: ...


@dataclass(frozen=True, slots=True)
class BatchTensors:
    """Where each request of a batch stands: three (n,) int64."""

    slots: Tensor
    prefix_lens: Tensor
    roots: Tensor

    @classmethod
    def of(cls, generations: Sequence[Generation]) -> "BatchTensors":
        columns = torch.tensor(
            [(g.slot, g.prefix_len, g.output_ids[-1]) for g in generations]
        ).unbind(dim=1)
        return cls(*(column.contiguous() for column in columns))


def chain(tokens: Sequence[int], log_probs: Sequence[float]) -> DraftTree:
    """A tree without branches: the root token, then one draft after another.

    log_probs are those of the drafts alone, one less than tokens.
    """
    weights = [0.0]
    for log_prob in log_probs:
        weights.append(weights[-1] + log_prob)
    return DraftTree(
        torch.tensor(tokens),
        torch.arange(-1, len(tokens) - 1),
        torch.tensor(weights, dtype=torch.float64),
    )


def path_choices(nodes: int, accepted: Sequence[int], tokens: Sequence[int]) -> list[int | None]:
    """The target's choices of a sampled walk: known at the nodes it visited, and only there."""
    target: list[int | None] = [None] * nodes
    for node, token in zip((0, *accepted), tokens, strict=True):
        target[node] = token
    return target
