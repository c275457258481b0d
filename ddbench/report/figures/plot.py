"""A field with two axes, where points and lines are drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddbench.report.figures.document import MARGIN, WIDTH, text, width_of
from ddbench.report.figures.scales import Scale, number_text, spread

LEFT, RIGHT = 62.0, WIDTH - 14.0
TOP, BOTTOM = 62.0, 312.0
LEGEND_TOP = BOTTOM + 50.0


@dataclass(frozen=True, slots=True)
class Axis:
    """`ticks`: where the numbers stand; None for round ones."""

    name: str
    scale: Scale
    ticks: tuple[float, ...] | None = None

    @property
    def title(self) -> str:
        return f"{self.name} (log scale)" if self.scale.log else self.name

    def places(self) -> list[tuple[float, str]]:
        values: Sequence[float] = self.scale.ticks() if self.ticks is None else self.ticks
        return [(self.scale.at(value), number_text(value)) for value in values]


def axes(across: Axis, upwards: Axis) -> Iterator[str]:
    """Grid, numbers and names of both axes."""
    for y, number in upwards.places():
        yield f'<path class="ddf-grid" d="M{LEFT:.1f} {y:.1f}H{RIGHT:.1f}"/>'
        yield text(LEFT - 7, y + 5, number, anchor="end")
    numbers = across.places()
    shown = spread([(x, width_of(number)) for x, number in numbers], gap=5.0)
    for (x, number), fits in zip(numbers, shown, strict=True):
        yield f'<path class="ddf-axis" d="M{x:.1f} {BOTTOM:.1f}v5"/>'
        if fits:
            yield text(x, BOTTOM + 20, number, anchor="middle")
    yield f'<path class="ddf-axis" d="M{LEFT:.1f} {TOP:.1f}V{BOTTOM:.1f}H{RIGHT:.1f}"/>'
    middle = (LEFT + RIGHT) / 2
    yield text(middle, BOTTOM + 39, across.title, anchor="middle")
    yield text(MARGIN + 4, (TOP + BOTTOM) / 2, upwards.title, anchor="middle", turned=True)


def empty() -> str:
    return text((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2, "Nothing was measured.", anchor="middle")
