"""Two arms' answers to the same prompts: identical, apart at a near tie, or wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Literal

from ddbench.records import RequestCompleted, RunResult

TIE = 0.1  # nats between the two sides' own choices
ROUNDING = 0.02  # by which two probabilities of one distribution may exceed 1 together

Cause = Literal["near tie", "no tie", "length", "not known"]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two answers part. length: one ends where the other goes on.

    Up to that token both sides saw the same text, so their log-probabilities there are of one
    distribution: near a tie they are close and sum to 1 at most. not known: without them.
    """

    prompt_id: str
    position: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class Agreement:
    """compared: pairs of answers with token ids on both sides, one a prompt or repeat."""

    compared: int
    divergences: tuple[Divergence, ...]  # the earliest first

    @property
    def identical(self) -> int:
        return self.compared - len(self.divergences)

    @property
    def first(self) -> Divergence | None:
        return self.divergences[0] if self.divergences else None

    def caused_by(self, cause: Cause) -> int:
        return sum(divergence.cause == cause for divergence in self.divergences)


def agreement(first: Sequence[RunResult], second: Sequence[RunResult]) -> Agreement:
    """The first answer of either side to each prompt, held against each other."""
    mine, theirs = _first_answers(first), _first_answers(second)
    pairs = [(mine[prompt], theirs[prompt]) for prompt in mine if prompt in theirs]
    return _of_pairs(pairs)


def self_agreement(trials: Sequence[RunResult]) -> Agreement | None:
    """An arm against itself: its first trial against each later one; None for a single trial."""
    if len(trials) < 2:
        return None
    first = {r.prompt_id: r for r in trials[0].completed}
    return _of_pairs(
        [
            (first[again.prompt_id], again)
            for trial in trials[1:]
            for again in trial.completed
            if again.prompt_id in first
        ]
    )


def _first_answers(trials: Sequence[RunResult]) -> dict[str, RequestCompleted]:
    answers: dict[str, RequestCompleted] = {}
    for trial in trials:
        for request in trial.completed:
            answers.setdefault(request.prompt_id, request)
    return answers


def _of_pairs(pairs: Sequence[tuple[RequestCompleted, RequestCompleted]]) -> Agreement:
    compared = [pair for pair in pairs if pair[0].output_ids and pair[1].output_ids]
    parted = [found for a, b in compared if (found := _divergence(a, b)) is not None]
    return Agreement(len(compared), tuple(sorted(parted, key=lambda d: (d.position, d.prompt_id))))


def _divergence(a: RequestCompleted, b: RequestCompleted) -> Divergence | None:
    mine, theirs = a.output_ids or (), b.output_ids or ()
    if mine == theirs:
        return None
    shorter = min(len(mine), len(theirs))
    position = next((i for i in range(shorter) if mine[i] != theirs[i]), shorter)
    return Divergence(a.prompt_id, position, _cause(a, b, position, shorter))


def _cause(a: RequestCompleted, b: RequestCompleted, position: int, shorter: int) -> Cause:
    if position == shorter:
        return "length"
    mine, theirs = a.output_logprobs or (), b.output_logprobs or ()
    if position >= min(len(mine), len(theirs)):
        return "not known"
    near = abs(mine[position] - theirs[position]) <= TIE
    possible = exp(mine[position]) + exp(theirs[position]) <= 1.0 + ROUNDING
    return "near tie" if near and possible else "no tie"
