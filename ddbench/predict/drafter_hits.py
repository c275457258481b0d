"""Where the target's token stood among the drafter's candidates, counted prompt by prompt.

Row d of a position is the drafter's guess at the token d + 1 places on. Whether it is right does
not depend on the tree that is built from it, so one recording serves every setting.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ddbench.predict.pop_ranks import path_ranks
from ddbench.predict.recorded import RecordedPrompt

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BINS = 10
"""Of equal width, from probability 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """What the recorded prompts say, one row a prompt.

    positions: (prompts, L) at which the token of each depth is known: the answer goes so far.
    by_rank: (prompts, L, K) how often it was the drafter's choice of that rank.
    mismatch_ranks: (prompts, K + 1) of verify steps of a linear draft that met a wrong first
        choice: the rank of the target's token there; K where it was not among the candidates.
    first, others: (prompts, BINS, 3) of first choices, and of all other candidates, by stated
        probability: how many, the sum of their probabilities, how many were right.
    """

    prompt_ids: tuple[str, ...]
    positions: Counts
    by_rank: Counts
    mismatch_ranks: Counts
    first: Floats
    others: Floats

    @property
    def topk(self) -> int:
        return int(self.by_rank.shape[2])


def count_hits(prompts: Sequence[RecordedPrompt]) -> Hits:
    """Read every prompt's drafts once, one prompt at a time."""
    counted = [_of_prompt(prompt) for prompt in prompts]
    positions, by_rank, mismatch_ranks, first, others = (
        np.stack(column) for column in zip(*counted, strict=True)
    )
    ids = tuple(prompt.prompt_id for prompt in prompts)
    return Hits(ids, positions, by_rank, mismatch_ranks, first, others)


def _of_prompt(prompt: RecordedPrompt) -> tuple[Counts, Counts, Counts, Floats, Floats]:
    token_ids, log_probs = prompt.drafts()
    positions, depth, topk = token_ids.shape
    ranks = path_ranks(token_ids, np.asarray(prompt.output_ids, dtype=np.int32))  # (P, L)
    known = np.arange(positions)[:, None] + np.arange(depth) < positions  # (P, L)
    by_rank = np.stack(
        [np.bincount(ranks[known[:, d], d], minlength=topk + 1)[:topk] for d in range(depth)]
    )
    mismatches = np.fromiter(_mismatch_ranks(ranks), dtype=np.int64)
    probabilities = np.exp(log_probs.astype(np.float64))  # (P, L, K)
    right = ranks[:, :, None] == np.arange(topk)
    return (
        known.sum(axis=0),
        by_rank,
        np.bincount(mismatches, minlength=topk + 1),
        _binned(probabilities[known][:, :1], right[known][:, :1]),
        _binned(probabilities[known][:, 1:], right[known][:, 1:]),
    )


def _mismatch_ranks(ranks: NDArray[np.int32]) -> Iterator[int]:
    """Of a linear draft's steps through one answer: the rank of the first token it got wrong."""
    positions, depth = ranks.shape
    at = 0
    while at < positions:
        reach = min(depth, positions - at)
        accepted = _leading(ranks[at, :reach] == 0)
        if accepted < reach:
            yield int(ranks[at, accepted])
        at += accepted + 1


def ceiling_steps(prompt: RecordedPrompt, *, topk: int) -> int:
    """Verify steps if every path of the first `topk` candidates were in the tree: as few as any."""
    token_ids, _ = prompt.drafts()
    ranks = path_ranks(token_ids, np.asarray(prompt.output_ids, dtype=np.int32))
    at = steps = 0
    while at < ranks.shape[0]:
        at += _leading(ranks[at] < topk) + 1  # behind the end of the answer the rank is K
        steps += 1
    return steps


def _leading(flags: NDArray[np.bool_]) -> int:
    """How many of the first are true."""
    return flags.size if flags.all() else int(flags.argmin())


def _binned(probabilities: Floats, right: NDArray[np.bool_]) -> Floats:
    """(BINS, 3): number, sum of probabilities, number right."""
    stated = probabilities.ravel()
    place = np.minimum((stated * BINS).astype(np.intp), BINS - 1)
    columns = [
        np.bincount(place, weights=weights, minlength=BINS)
        for weights in (np.ones_like(stated), stated, right.ravel().astype(np.float64))
    ]
    return np.stack(columns, axis=1)
