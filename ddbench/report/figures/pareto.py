"""What a user gets against what a server gives: tok/s/user to the right, tok/s upwards."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddbench.report.figures.document import WIDTH, document, text, width_of
from ddbench.report.figures.plot import BOTTOM, LEFT, LEGEND_TOP, RIGHT, TOP, Axis, axes, empty
from ddbench.report.figures.scales import Scale, number_text, value_scale
from ddbench.report.figures.series import legend, mark, path, slots, whisker
from ddbench.report.numbers import interval_text
from ddbench.stats.interval import Interval

TITLE = "Speed for one user against throughput"
_KEY = 22.0  # below the legend, for the line that nothing beats
_LETTER_HEIGHT = 14.0


@dataclass(frozen=True, slots=True)
class Point:
    """load: a concurrency, or requests a second. tokens_per_s_user: of one stream."""

    arm: str
    load: float
    tokens_per_s_user: Interval
    tokens_per_s: Interval


@dataclass(frozen=True, slots=True)
class ParetoFigure:
    """load_name: what `load` counts. arm_order: arms as other figures of the page colour them."""

    points: tuple[Point, ...]
    load_name: str = "concurrency"
    arm_order: tuple[str, ...] = ()


def draw(figure: ParetoFigure) -> str:
    """Points of one arm are joined in the order of their loads."""
    points = figure.points
    looks = slots([point.arm for point in points], figure.arm_order)
    shown = {point.arm: looks[point.arm] for point in points}
    names, height = legend(shown, LEGEND_TOP)
    below = LEGEND_TOP + height
    return document(
        TITLE,
        _description(points, figure.load_name),
        below + _KEY + 8,
        [*(_field(figure, looks) if points else [empty()]), *names, *_key(below)],
    )


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no other one beats in both, ascending in tok/s/user."""
    best: list[Point] = []
    ordered = sorted(
        points, key=lambda p: (p.tokens_per_s_user.value, p.tokens_per_s.value), reverse=True
    )
    for point in ordered:
        if not best or point.tokens_per_s.value > best[-1].tokens_per_s.value:
            best.append(point)
    return best[::-1]


def _field(figure: ParetoFigure, looks: dict[str, int]) -> Iterator[str]:
    points = figure.points
    across = value_scale([point.tokens_per_s_user for point in points], LEFT, RIGHT)
    upwards = value_scale([point.tokens_per_s for point in points], BOTTOM, TOP)
    yield from axes(Axis("tok/s/user", across), Axis("tok/s", upwards))
    best = frontier(points)
    yield _staircase([_place(point, across, upwards) for point in best])
    for arm, slot in looks.items():
        own = sorted((p for p in points if p.arm == arm), key=lambda point: point.load)
        if own:
            yield path(slot, [_place(point, across, upwards) for point in own])
    for point in points:
        yield _mark(point, looks[point.arm], across, upwards, figure.load_name)
    yield from _loads(best, points, across, upwards)


def _mark(point: Point, slot: int, across: Scale, upwards: Scale, load_name: str) -> str:
    x, y = _place(point, across, upwards)
    said = (
        f"{interval_text(point.tokens_per_s_user)} tok/s/user, "
        f"{interval_text(point.tokens_per_s)} tok/s, "
        f"{load_name} {number_text(point.load)}, {point.arm}"
    )
    return mark(slot, x, y, said, below=[whisker(x, point.tokens_per_s, upwards)])


def _staircase(places: Sequence[tuple[float, float]]) -> str:
    """The edge of what was reached: whatever lies below or left of it is beaten."""
    x, y = places[0]
    corners = [f"M{LEFT:.1f} {y:.1f}H{x:.1f}"]
    corners += [f"V{next_y:.1f}H{next_x:.1f}" for next_x, next_y in places[1:]]
    return f'<path class="ddf-frontier" d="{"".join(corners)}V{BOTTOM:.1f}"/>'


def _loads(
    best: Sequence[Point], points: Sequence[Point], across: Scale, upwards: Scale
) -> Iterator[str]:
    """The load beside each unbeaten point, where there is room for it."""
    taken = [_box(*_place(point, across, upwards), 11.0, 11.0) for point in points]
    for point in best:
        x, y = _place(point, across, upwards)
        number = number_text(point.load)
        width = width_of(number)
        if x + 9 + width > WIDTH:
            continue
        box = _box(x + 9 + width / 2, y - 10, width, _LETTER_HEIGHT)
        if any(_touch(box, other) for other in taken):
            continue
        taken.append(box)
        yield text(x + 9, y - 5, number)


Box = tuple[float, float, float, float]  # left, top, right, bottom


def _box(x: float, y: float, width: float, height: float) -> Box:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _place(point: Point, across: Scale, upwards: Scale) -> tuple[float, float]:
    return across.at(point.tokens_per_s_user.value), upwards.at(point.tokens_per_s.value)


def _key(y: float) -> Iterator[str]:
    yield f'<path class="ddf-frontier" d="M12 {y + 10:.1f}h26"/>'
    yield text(46, y + 15, "beaten by nothing in both; numbers: the load")


def _description(points: Sequence[Point], load_name: str) -> str:
    if not points:
        return "Nothing was measured."
    best = "; ".join(
        f"{p.arm} at {load_name} {number_text(p.load)}: {p.tokens_per_s_user.value:.4g} "
        f"tok/s/user, {p.tokens_per_s.value:.4g} tok/s"
        for p in frontier(points)
    )
    return f"tok/s of a server over tok/s of one user. Not beaten in both: {best}."
