"""Can a tree help with this drafter? What its drafts promise, against what the run measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ddbench.compare.verdicts import MARGIN, Verdict, is_known
from ddbench.stats.interval import Interval

Outcome = Literal["helps", "cannot help", "not decided"]

WIDEST = 1000.0
"""Of an upper bound beyond, as two unlike trials have it, no more is said."""

_CLAUSES: Mapping[Outcome, str] = {
    "helps": "the tree helps",
    "cannot help": "the tree cannot help",
    "not decided": "whether the tree helps is not decided",
}


@dataclass(frozen=True, slots=True)
class Speed:
    """tok/s of the tree over the linear draft at one concurrency.

    ratio: None where a trial cannot stand for its arm.
    """

    concurrency: int
    ratio: Interval | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class TreeVerdict:
    """One tree, or its promise alone where the run did not measure it. Ratios: tree over linear.

    predicted: tokens/step replayed from the recorded drafts. ceiling: the same if no budget bound
    the tree: what coverage allows. measured: tokens/step, every concurrency pooled, by prompt.
    greedy: temperature 0, where the replay of an answer is exact but for ties.
    """

    drafter: str
    tree: str
    linear: str
    predicted: Interval
    ceiling: Interval
    measured: Interval | None
    speeds: tuple[Speed, ...]
    greedy: bool

    @property
    def outcome(self) -> Outcome:
        """By the measured tokens per step; where there are none, by the predicted."""
        return outcome_of(self.predicted if self.measured is None else self.measured)

    @property
    def agrees(self) -> bool | None:
        """Whether the measured interval holds the prediction; None without one, or of samples."""
        if not self.greedy or not is_known(self.measured):
            return None
        return self.predicted.value in self.measured

    @property
    def sentence(self) -> str:
        """Tokens per step and tok/s apart, without names, which are not ours."""
        return f"{_CLAUSES[self.outcome]}: {self._by_steps}. {self._by_time}."

    @property
    def _by_steps(self) -> str:
        predicted = _shown(self.predicted)
        if self.measured is None:
            return f"tokens/step {predicted} predicted from the recorded drafts, not measured here"
        text = f"tokens/step {_shown(self.measured)} measured"
        if self.agrees is None:
            return f"{text}, {predicted} predicted from the recorded drafts"
        if self.agrees:
            return f"{text}, as predicted from the recorded drafts ({predicted})"
        return (
            f"{text}, but the recorded drafts predict {predicted}: the answers are others than the "
            "recorded ones, or the tree is built or verified otherwise than the ranks say "
            "(`ddbench predict RUN --validate`)"
        )

    @property
    def _by_time(self) -> str:
        if all(speed.ratio is None for speed in self.speeds):
            return "What it costs in time was not measured"
        said = ", ".join(
            f"{_speed(speed)} at concurrency {speed.concurrency}" for speed in self.speeds
        )
        return f"In tok/s, which also pays for the wider verification: {said}"


def outcome_of(ratio: Interval) -> Outcome:
    """What an interval of tokens per step, tree over linear, lets us say of the tree.

    It cannot help where even the upper bound gains less than MARGIN.
    """
    if not is_known(ratio) or ratio.low is None or ratio.high is None:
        return "not decided"
    if ratio.high < 1.0 + MARGIN:
        return "cannot help"
    return "helps" if ratio.low > 1.0 else "not decided"


def _speed(speed: Speed) -> str:
    if speed.ratio is None:
        return "no usable trials"
    return f"{_shown(speed.ratio, places=2)} ({speed.verdict})"


def _shown(ratio: Interval, *, places: int = 3) -> str:
    """So that a bound near 1 is seen on its side of it."""
    places = ratio.decimals_beside_1(places)
    text = f"{ratio.value:.{places}f}x"
    if ratio.low is not None and ratio.high is not None:
        high = f"{ratio.high:.{places}f}" if ratio.high <= WIDEST else f">{WIDEST:.0f}"
        text += f" [{ratio.low:.{places}f}, {high}]"
    return f"{text} n={ratio.n}"
