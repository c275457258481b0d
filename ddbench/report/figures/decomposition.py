"""Why a tree is faster or slower than the line: three factors, and what was measured."""

from collections.abc import Iterator
from dataclasses import dataclass

from ddbench.report.figures.document import MARGIN, WIDTH, document, text, width_of, written
from ddbench.report.figures.scales import Scale, number_text, ratio_scale, spread
from ddbench.report.figures.series import readout
from ddbench.report.numbers import interval_text
from ddbench.stats.interval import Interval

_LEFT, _RIGHT = 98.0, WIDTH - 74.0
_TOP = 60.0
_ROW = 22.0
_BAR = 13.0
_HEAD = 24.0
_GAP = 8.0
_NOTE = "On the measured bar a line marks the product."


@dataclass(frozen=True, slots=True)
class Factors:
    """speedup = rounds x round_time x batch, each above 1 where the second arm gains.

    batch: requests in a round. load: a concurrency, or requests a second. product: of the three;
    measured: by the client's clock. label: what must stand beside the numbers, such as "unlike
    conditions".
    """

    load: float
    rounds: Interval
    round_time: Interval
    batch: Interval
    product: float
    measured: Interval
    label: str = ""


@dataclass(frozen=True, slots=True)
class DecompositionFigure:
    first: str
    second: str
    factors: tuple[Factors, ...]
    load_name: str = "concurrency"


def draw(figure: DecompositionFigure) -> str:
    """Bars start at 1 on a log scale, so that their lengths add up to the measured one."""
    title = f"Why {figure.second} over {figure.first}"
    if not figure.factors:
        middle = text(WIDTH / 2, _TOP + 20, "The factors could not be had.", anchor="middle")
        return document(title, "The factors could not be had.", _TOP + 40, [middle])
    bars = [interval for factors in figure.factors for _, interval in _rows(factors)]
    scale = ratio_scale(bars, _LEFT, _RIGHT)
    group = _HEAD + 4 * _ROW + _GAP
    bottom = _TOP + group * len(figure.factors)
    parts: list[str] = []
    for number, factors in enumerate(figure.factors):
        parts += _group(factors, figure.load_name, scale, _TOP + number * group)
    parts += _numbers(scale, bottom + 12)
    parts.append(text(MARGIN, bottom + 38, _NOTE))
    return document(title, _description(figure), bottom + 52, parts)


def _rows(factors: Factors) -> list[tuple[str, Interval]]:
    return [
        ("rounds", factors.rounds),
        ("time", factors.round_time),
        ("batch", factors.batch),
        ("measured", factors.measured),
    ]


def _grid(scale: Scale, top: float) -> Iterator[str]:
    """Below the group's heading, so that no line runs through its words."""
    upright = f"{top + _HEAD:.1f}v{4 * _ROW:.1f}"
    for tick in scale.ticks():
        yield f'<path class="ddf-grid" d="M{scale.at(tick):.1f} {upright}"/>'
    yield f'<path class="ddf-axis" d="M{scale.at(1.0):.1f} {upright}"/>'


def _numbers(scale: Scale, y: float) -> Iterator[str]:
    ticks = [(scale.at(tick), f"{number_text(tick)}x") for tick in scale.ticks()]
    shown = spread([(x, width_of(number)) for x, number in ticks], gap=4.0)
    for (x, number), fits in zip(ticks, shown, strict=True):
        if fits:
            yield text(x, y, number, anchor="middle")


def _group(factors: Factors, load_name: str, scale: Scale, top: float) -> Iterator[str]:
    heading = f"{load_name} {number_text(factors.load)}"
    heading += f" ({factors.label})" if factors.label else ""
    yield from _grid(scale, top)
    yield text(MARGIN, top + 17, heading, kind="name", room=WIDTH - 2 * MARGIN)
    for number, (name, interval) in enumerate(_rows(factors)):
        middle = top + _HEAD + (number + 0.5) * _ROW
        said = f"{name} {interval_text(interval, units='x')}"
        if name == "measured":
            said += f", product {factors.product:.2f}x"
        yield text(_LEFT - 8, middle + 5, name, anchor="end")
        yield _bar(name, interval, scale, middle, f"{said}, {heading}")
        if name == "measured":
            x = scale.at(factors.product)
            yield f'<path class="ddf-axis" stroke-width="2" d="M{x:.1f} {middle - 9:.1f}v18"/>'
        yield text(WIDTH - MARGIN, middle + 5, f"{interval.value:.2f}x", anchor="end")


def _bar(name: str, interval: Interval, scale: Scale, middle: float, said: str) -> str:
    ends = sorted((scale.at(1.0), scale.at(interval.value)))
    spoken = written(said)
    kind = "ddf-measured" if name == "measured" else "ddf-factor"
    box = (
        f'x="{ends[0]:.1f}" y="{middle - _BAR / 2:.1f}" '
        f'width="{max(ends[1] - ends[0], 1.0):.1f}" height="{_BAR:g}"'
    )
    return (
        f'<g class="ddf-mark {kind}" tabindex="0" role="img" aria-label="{spoken}">'
        f"<title>{spoken}</title>"
        f'<rect class="ddf-hit" x="{_LEFT:.1f}" y="{middle - _ROW / 2:.1f}" '
        f'width="{_RIGHT - _LEFT:.1f}" height="{_ROW:g}"/>'
        f'<rect class="ddf-bar" {box}/><rect class="ddf-ring" {box}/>'
        f"{_whisker(interval, scale, middle)}{readout(said)}</g>"
    )


def _whisker(interval: Interval, scale: Scale, middle: float) -> str:
    low, high = interval.low, interval.high
    if low is None or high is None:
        return ""
    ends = [f"M{scale.at(e):.1f} {middle - 4:.1f}v8" for e in (low, high) if scale.holds(e)]
    along = f"M{scale.at(low):.1f} {middle:.1f}H{scale.at(high):.1f}"
    return f'<path class="ddf-axis" d="{along}{"".join(ends)}"/>'


def _description(figure: DecompositionFigure) -> str:
    said = "; ".join(
        f"{figure.load_name} {number_text(f.load)}: rounds {f.rounds.value:.2f} x time "
        f"{f.round_time.value:.2f} x batch {f.batch.value:.2f} = {f.product:.2f}, measured "
        f"{f.measured.value:.2f}"
        for f in figure.factors
    )
    return f"Speedup of {figure.second} over {figure.first} and its factors. {said}."
