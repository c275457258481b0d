"""Throughput against what was asked, a line an arm."""

from collections.abc import Iterator
from dataclasses import dataclass

from ddbench.report.figures.document import document
from ddbench.report.figures.plot import BOTTOM, LEFT, LEGEND_TOP, RIGHT, TOP, Axis, axes, empty
from ddbench.report.figures.scales import load_scale, number_text, value_scale
from ddbench.report.figures.series import legend, mark, path, slots, whisker
from ddbench.report.numbers import interval_text
from ddbench.stats.interval import Interval

TITLE = "Throughput"
_APART = 2.5  # between the bars of two arms at one load


@dataclass(frozen=True, slots=True)
class Point:
    """load: a concurrency, or requests a second."""

    load: float
    tokens_per_s: Interval


@dataclass(frozen=True, slots=True)
class Line:
    arm: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class ThroughputFigure:
    """load_name: what `load` counts. arm_order: arms as other figures of the page colour them."""

    lines: tuple[Line, ...]
    load_name: str = "concurrency"
    arm_order: tuple[str, ...] = ()


def draw(figure: ThroughputFigure) -> str:
    """Upright bars are 95 % intervals; one longer than twice the axis is cut at its end."""
    lines = [line for line in figure.lines if line.points]
    looks = slots([line.arm for line in lines], figure.arm_order)
    shown = {line.arm: looks[line.arm] for line in lines}
    names, height = legend(shown, LEGEND_TOP)
    return document(
        f"{TITLE} against {figure.load_name}",
        _description(lines, figure.load_name),
        LEGEND_TOP + height + 8,
        [*(_field(lines, looks, figure.load_name) if lines else [empty()]), *names],
    )


def _field(lines: list[Line], looks: dict[str, int], load_name: str) -> Iterator[str]:
    points = [point for line in lines for point in line.points]
    loads = sorted({point.load for point in points})
    across = load_scale(loads, LEFT, RIGHT)
    upwards = value_scale([point.tokens_per_s for point in points], BOTTOM, TOP)
    yield from axes(Axis(load_name, across, tuple(loads)), Axis("tok/s", upwards))
    marks: list[str] = []
    for number, line in enumerate(lines):
        aside = (number - (len(lines) - 1) / 2) * _APART
        slot = looks[line.arm]
        ordered = sorted(line.points, key=lambda point: point.load)
        places = [(across.at(p.load) + aside, upwards.at(p.tokens_per_s.value)) for p in ordered]
        yield path(slot, places)
        for point, (x, y) in zip(ordered, places, strict=True):
            said = (
                f"{interval_text(point.tokens_per_s)} tok/s, "
                f"{load_name} {number_text(point.load)}, {line.arm}"
            )
            marks.append(mark(slot, x, y, said, below=[whisker(x, point.tokens_per_s, upwards)]))
    yield from marks


def _description(lines: list[Line], load_name: str) -> str:
    if not lines:
        return "Nothing was measured."
    found = [(p.tokens_per_s.value, line.arm, p.load) for line in lines for p in line.points]
    most, arm, load = max(found)
    return (
        f"tok/s of {len(lines)} arms over {load_name}, with 95 % intervals. Highest: {arm} at "
        f"{load_name} {number_text(load)}, {most:.4g} tok/s."
    )
