"""One arm's looks: colour, dash and shape, so that no arm is told by its colour alone."""

from collections.abc import Iterator, Sequence

from ddbench.report.figures.document import (
    FONT_SIZES,
    MARGIN,
    SERIES,
    WIDTH,
    text,
    width_of,
    written,
)
from ddbench.report.figures.scales import Scale
from ddbench.stats.interval import Interval

READOUT_Y = 46  # the line below the heading where a mark says its values
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 5", "12 3", "2 2 6 2", "1 4")
_SHAPES = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",  # disc
    "M-4-4h8v8h-8z",  # square
    "M0-5.5L5.5 4.5h-11z",  # triangle
    "M0-6L5.5 0L0 6L-5.5 0z",  # diamond
    "M0 5.5L5.5-4.5h-11z",  # triangle, point down
    "M-1.8-5.5h3.6v3.7h3.7v3.6h-3.7v3.7h-3.6v-3.7h-3.7v-3.6h3.7z",  # plus
    "M-5.5-2.5L0-6L5.5-2.5L3.6 5h-7.2z",  # pentagon
    "M-5-5h3L0-2L2-5h3v3L2 0L5 2v3h-3L0 2L-2 5h-3v-3L-2 0L-5-2z",  # cross
)
_LEGEND_ROW = 21
_SAMPLE = 34  # of line, before the name


def colour_class(slot: int) -> str:
    return f"ddf-s{slot % SERIES + 1}"


def slots(arms: Sequence[str], order: Sequence[str]) -> dict[str, int]:
    """Each arm's place in `order`, so that it looks alike in every figure; others come after."""
    known = dict.fromkeys((*order, *arms))
    return {arm: number for number, arm in enumerate(known)}


def path(slot: int, places: Sequence[tuple[float, float]]) -> str:
    """A line through `places`."""
    dash = _DASHES[slot % len(_DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polyline class="ddf-line {colour_class(slot)}" points="{corners}"{dashes}/>'


def mark(slot: int, x: float, y: float, said: str, *, below: Sequence[str] = ()) -> str:
    """A point that says `said` to a pointer, to the keyboard and to a screen reader."""
    spoken = written(said)
    return (
        f'<g class="ddf-mark {colour_class(slot)}" tabindex="0" role="img" aria-label="{spoken}">'
        f"<title>{spoken}</title>{''.join(below)}"
        f'<circle class="ddf-hit" cx="{x:.1f}" cy="{y:.1f}" r="10"/>'
        f"{shape(slot, x, y)}"
        f'<circle class="ddf-ring" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
        f"{readout(said)}</g>"
    )


def readout(said: str) -> str:
    return text(MARGIN, READOUT_Y, said, kind="said", room=WIDTH - 2 * MARGIN)


def shape(slot: int, x: float, y: float) -> str:
    """Shapes move on by one with each round of colours, so 64 arms differ in one of the two."""
    outline = _SHAPES[(slot + slot // SERIES) % len(_SHAPES)]
    return f'<path class="ddf-shape" transform="translate({x:.1f} {y:.1f})" d="{outline}"/>'


def whisker(x: float, interval: Interval, scale: Scale) -> str:
    """Upright at `x`; an end that the scale does not hold has no bar."""
    low, high = interval.low, interval.high
    if low is None or high is None:
        return ""
    bars = [f"M{x - 3:.1f} {scale.at(end):.1f}h6" for end in (low, high) if scale.holds(end)]
    upright = f"M{x:.1f} {scale.at(low):.1f}V{scale.at(high):.1f}"
    return f'<path class="ddf-whisker" d="{upright}{"".join(bars)}"/>'


def legend(arms: dict[str, int], y: float) -> tuple[list[str], float]:
    """Names with their looks from `y` downwards, and the height they take."""
    room = WIDTH - 2 * MARGIN
    widest = max((width_of(arm, "name") for arm in arms), default=0.0)
    in_row = max(1, min(3, int(room / (widest + _SAMPLE + 16))))
    column = room / in_row
    parts: list[str] = []
    for number, (arm, slot) in enumerate(arms.items()):
        left = MARGIN + number % in_row * column
        middle = y + number // in_row * _LEGEND_ROW + _LEGEND_ROW / 2
        parts += _entry(arm, slot, left, middle, column - _SAMPLE - 4)
    return parts, -(-len(arms) // in_row) * _LEGEND_ROW


def _entry(arm: str, slot: int, left: float, middle: float, room: float) -> Iterator[str]:
    yield f'<g class="{colour_class(slot)}"><title>{written(arm)}</title>'
    yield path(slot, [(left, middle), (left + _SAMPLE - 8, middle)])
    yield shape(slot, left + _SAMPLE / 2 - 4, middle)
    baseline = middle + 0.35 * FONT_SIZES["name"]
    yield text(left + _SAMPLE, baseline, arm, kind="name", room=room) + "</g>"
