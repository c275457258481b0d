"""From a value to a place in the drawing, and where an axis has its ticks."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ddbench.stats.interval import Interval

WIDE_RATIO = 20.0  # values further apart than this are drawn on a log scale
REACH = 2.0  # an interval may widen an axis by this factor; a longer one is cut at its end
ROOM = 1.06
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Scale:
    """`low` is drawn at `start` and `high` at `end`, in the units of the drawing."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of `value`; what lies outside is drawn at the end that it passed."""
        inside = min(max(value, self.low), self.high)
        low, high, place = ((math.log(v) if self.log else v) for v in (self.low, self.high, inside))
        return self.start + (place - low) / (high - low) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers, at most `most`, in ascending order."""
        if self.log and len(decades := self._decades()) >= 3:
            return decades[:: math.ceil(len(decades) / most)]
        return self._even(most)

    def _decades(self) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        digits = (1.0,) if last - first > 4 else (1.0, 2.0, 5.0)
        values = (float(f"{d}e{e}") for e in range(first, last + 1) for d in digits)
        return [value for value in values if self.holds(value)]

    def _even(self, most: int) -> list[float]:
        raw = (self.high - self.low) / most
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(unit * s for s in _STEPS if unit * s >= raw * (1.0 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def value_scale(intervals: Iterable[Interval], start: float, end: float) -> Scale:
    """An axis for positive quantities: from 0, or logarithmic where they lie far apart."""
    found = [i for i in intervals if math.isfinite(i.value)]
    values = [i.value for i in found] or [1.0]
    most = max(values)
    highest = max([most, *(min(i.high, REACH * most) for i in found if i.high is not None)])
    least = min(values)
    if least <= 0.0 or most / least < WIDE_RATIO:
        return Scale(0.0, (highest if highest > 0.0 else 1.0) * ROOM, start, end)
    lows = [max(i.low, least / REACH) for i in found if i.low is not None]
    return Scale(min([least, *lows]) / ROOM, highest * ROOM, start, end, log=True)


def ratio_scale(intervals: Iterable[Interval], start: float, end: float) -> Scale:
    """A logarithmic axis of ratios, which always shows 1."""
    found = [i for i in intervals if math.isfinite(i.value) and i.value > 0.0]
    values = [1.0, *(i.value for i in found)]
    low, high = min(values), max(values)
    lows = [max(i.low, low / REACH) for i in found if i.low is not None]
    highs = [min(i.high, high * REACH) for i in found if i.high is not None]
    low, high = min([low, *lows]), max([high, *highs])
    margin = max((high / low) ** 0.05, 1.01)
    return Scale(low / margin, high * margin, start, end, log=True)


def load_scale(loads: Sequence[float], start: float, end: float) -> Scale:
    """An axis of what was asked, logarithmic: the loads of a sweep usually double."""
    low, high = min(loads, default=1.0), max(loads, default=1.0)
    if low <= 0.0:
        return Scale(low - 0.5, high + 0.5, start, end)
    margin = max((high / low) ** 0.06, 1.1)
    return Scale(low / margin, high * margin, start, end, log=True)


def spread(labels: Sequence[tuple[float, float]], gap: float) -> list[bool]:
    """Which of the labels (place, width), in order of place, fit without touching each other."""
    shown, free_from = [], -math.inf
    for place, width in labels:
        fits = place - width / 2.0 >= free_from
        shown.append(fits)
        if fits:
            free_from = place + width / 2.0 + gap
    return shown


def number_text(value: float) -> str:
    """`0`, `0.25`, `1.5`, `1200`, `25k`, `3M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.4g}{letter}"
    return f"{value:.4g}"
