"""Predicted trees as an SVG: budget to the right, topk downwards, a panel a question.

The first panel is acceptance, which one recording determines everywhere. The others are tok/s, one
a concurrency, and grey where no step time was measured on both sides of a width.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ddbench.predict.forecast import Candidate, Forecaster

CELL_WIDTH, CELL_HEIGHT = 6, 14
LEFT, TOP, GAP, LEGEND = 44, 34, 40, 150
SHADES = 64
UNKNOWN = "#d8d8d8"
_STYLE = (  # a page may bring its own colours, for dark screens
    ".ddh-surface{fill:var(--surface,white)}.ddh text{fill:var(--ink,black)}"
    f".ddh-unknown{{fill:var(--grid,{UNKNOWN})}}.ddh .ddh-best{{fill:var(--best,red)}}"
)
_ANCHORS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))

Values = Mapping[tuple[int, int], float]
"""(budget, topk) -> value; what is missing is not known."""


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    unit: str
    values: Values
    timed: frozenset[tuple[int, int]] = frozenset()  # ringed
    best: tuple[int, int] | None = None  # crossed


def heat_map(forecaster: Forecaster, candidates: Mapping[int, Sequence[Candidate]]) -> str:
    """The SVG of a prediction. candidates: concurrency -> its settings, the fastest first."""
    grid = forecaster.acceptance.grid
    return render(panels_of(forecaster, candidates), budgets=grid.budgets, topks=grid.topks)


def panels_of(forecaster: Forecaster, candidates: Mapping[int, Sequence[Candidate]]) -> list[Panel]:
    """Acceptance, then tok/s of each concurrency."""
    decoded = forecaster.decoded_tokens
    steps = {tree: float(forecaster.acceptance.steps(*tree).sum()) for tree in forecaster.trees()}
    acceptance = Panel(
        f"Predicted tokens a step, {forecaster.recorded.arm}",
        "tokens/step",
        {tree: decoded / count for tree, count in steps.items() if count},
    )
    return [acceptance, *(_speed_panel(c, ranked) for c, ranked in candidates.items())]


def render(panels: Sequence[Panel], *, budgets: Sequence[int], topks: Sequence[int]) -> str:
    """A stand-alone SVG document of the panels, one below the other."""
    width = LEFT + CELL_WIDTH * len(budgets) + LEGEND
    height = sum(_panel_height(topks) for _ in panels)
    titles = escape("; ".join(panel.title for panel in panels))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ddh" role="img" aria-label="{titles}" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11">',
        f"<style>{_STYLE}</style>",
        f'<rect class="ddh-surface" width="{width}" height="{height}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({LEFT},{TOP + number * _panel_height(topks)})">')
        parts += _panel(panel, budgets, topks)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _speed_panel(concurrency: int, ranked: Sequence[Candidate]) -> Panel:
    trees = {
        (c.speculation.budget, c.speculation.topk): c
        for c in ranked
        if c.speculation.budget is not None and c.speculation.topk is not None
    }
    return Panel(
        f"Predicted tok/s at concurrency {concurrency}",
        "tok/s",
        {tree: candidate.tokens_per_s for tree, candidate in trees.items()},
        frozenset(tree for tree, candidate in trees.items() if candidate.timed),
        next(iter(trees), None),
    )


def _panel_height(topks: Sequence[int]) -> int:
    return TOP + CELL_HEIGHT * len(topks) + GAP


def _panel(panel: Panel, budgets: Sequence[int], topks: Sequence[int]) -> Iterator[str]:
    low, high = min(panel.values.values(), default=0.0), max(panel.values.values(), default=0.0)
    yield f'<text y="-12" font-size="13">{escape(panel.title)}</text>'
    for row, topk in enumerate(topks):
        y = row * CELL_HEIGHT
        yield f'<text x="-6" y="{y + 11}" text-anchor="end">{topk}</text>'
        fills = [_fill(panel.values.get((budget, topk)), low, high) for budget in budgets]
        start = 0
        for column in range(1, len(fills) + 1):  # neighbours of one shade are one rectangle
            if column == len(fills) or fills[column] != fills[start]:
                unknown = 'class="ddh-unknown" ' if fills[start] == UNKNOWN else ""
                yield (
                    f'<rect {unknown}x="{start * CELL_WIDTH}" y="{y}" '
                    f'width="{(column - start) * CELL_WIDTH}" height="{CELL_HEIGHT}" '
                    f'fill="{fills[start]}"/>'
                )
                start = column
        for column, budget in enumerate(budgets):
            yield from _mark(panel, (budget, topk), column * CELL_WIDTH, y)
    yield from _axes(panel, budgets, topks, low, high)


def _mark(panel: Panel, tree: tuple[int, int], x: int, y: int) -> Iterator[str]:
    middle_x, middle_y = x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2
    budget, topk = tree
    if tree in panel.timed:
        yield (
            f'<circle cx="{middle_x}" cy="{middle_y}" r="4" fill="none" stroke="black">'
            f"<title>timed: budget {budget}, topk {topk}</title></circle>"
        )
    if tree == panel.best:
        yield (
            f'<path d="M{middle_x - 4} {middle_y - 4}l8 8m0 -8l-8 8" stroke="red" '
            f'stroke-width="2"><title>fastest tree: budget {budget}, topk {topk}, '
            f"{_number(panel.values[tree])} {panel.unit}</title></path>"
        )


def _axes(
    panel: Panel, budgets: Sequence[int], topks: Sequence[int], low: float, high: float
) -> Iterator[str]:
    bottom = CELL_HEIGHT * len(topks)
    every = max(1, len(budgets) // 16)
    for column in range(0, len(budgets), every):
        x = (column + 0.5) * CELL_WIDTH
        yield f'<text x="{x}" y="{bottom + 13}" text-anchor="middle">{budgets[column]}</text>'
    yield f'<text x="0" y="{bottom + 27}">budget (nodes without the root)</text>'
    yield '<text x="-40" y="-12">topk</text>'
    legend = CELL_WIDTH * len(budgets) + 14
    rows = [(high, _fill(high, low, high)), ((low + high) / 2, _fill((low + high) / 2, low, high))]
    for number, (value, fill) in enumerate([*rows, (low, _fill(low, low, high))]):
        y = number * 18
        yield f'<rect x="{legend}" y="{y}" width="14" height="14" fill="{fill}"/>'
        yield f'<text x="{legend + 20}" y="{y + 11}">{_number(value)} {escape(panel.unit)}</text>'
    yield (
        f'<rect class="ddh-unknown" x="{legend}" y="54" width="14" height="14" fill="{UNKNOWN}"/>'
    )
    yield f'<text x="{legend + 20}" y="65">not predicted</text>'
    if panel.best is not None:
        cross = '<tspan class="ddh-best" fill="red">x</tspan>'
        yield f'<text x="{legend}" y="83">o timed, {cross} fastest tree</text>'


def _number(value: float) -> str:
    """Three digits, and no power of ten."""
    return f"{value:.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def _fill(value: float | None, low: float, high: float) -> str:
    """Dark is little, bright is much, also to eyes that see fewer colours."""
    if value is None:
        return UNKNOWN
    share = (value - low) / (high - low) if high > low else 1.0
    place = round(share * (SHADES - 1)) / (SHADES - 1) * (len(_ANCHORS) - 1)
    below = min(int(place), len(_ANCHORS) - 2)
    mixed = (
        round(a + (b - a) * (place - below))
        for a, b in zip(_ANCHORS[below], _ANCHORS[below + 1], strict=True)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
