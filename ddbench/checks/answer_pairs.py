"""Two cells' answers to the same prompts, held side by side."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp

from ddbench.checks.cells import Cell
from ddbench.records import RequestCompleted

TIE = 0.1  # nats between the two sides' own choices
ROUNDING = 0.02  # by which two probabilities of one distribution may exceed 1 together


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two answers part. tie: a near tie of the target; None without log-probabilities."""

    prompt_id: str
    position: int
    tie: bool | None


def first_answers(a: Cell, b: Cell) -> Iterator[tuple[RequestCompleted, RequestCompleted]]:
    """The first answer of either side to each prompt that both answered."""
    others = b.by_prompt()
    for prompt_id, answers in a.by_prompt().items():
        if prompt_id in others:
            yield answers[0], others[prompt_id][0]


def divergence(a: RequestCompleted, b: RequestCompleted) -> Divergence | None:
    """None when the token ids are equal, or when a side has none.

    Up to the point where they part both sides saw the same text, so their log-probabilities there
    are of one distribution: near a tie they are close. If they are far apart, or if the two
    probabilities sum to more than 1, the sides computed different distributions.
    """
    if a.output_ids is None or b.output_ids is None or a.output_ids == b.output_ids:
        return None
    shorter = min(len(a.output_ids), len(b.output_ids))
    position = next(
        (i for i in range(shorter) if a.output_ids[i] != b.output_ids[i]),
        shorter,
    )
    return Divergence(a.prompt_id, position, _is_tie(a, b, position))


def _is_tie(a: RequestCompleted, b: RequestCompleted, position: int) -> bool | None:
    if a.output_logprobs is None or b.output_logprobs is None:
        return None
    if position >= min(len(a.output_logprobs), len(b.output_logprobs)):
        return None
    mine, theirs = a.output_logprobs[position], b.output_logprobs[position]
    return abs(mine - theirs) <= TIE and exp(mine) + exp(theirs) <= 1.0 + ROUNDING


def differing_share(a: Cell, b: Cell) -> tuple[int, int]:
    """(prompts whose answers differ, prompts that both sides answered with token ids)."""
    pairs = [
        (mine, theirs)
        for mine, theirs in first_answers(a, b)
        if mine.output_ids is not None and theirs.output_ids is not None
    ]
    return sum(divergence(mine, theirs) is not None for mine, theirs in pairs), len(pairs)
