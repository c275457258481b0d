"""Figures as a reader gets them: the SVG is parsed, and places are read back into values."""

import math
import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddbench.report.figures import decomposition, pareto, survival, throughput
from ddbench.report.figures.document import DARK, LIGHT, written
from ddbench.stats.interval import Interval

NS = "{http://www.w3.org/2000/svg}"
ARMS = (
    "autoregressive",
    "linear-8",
    "tree-8-7-1",
    "tree-8-7-4",
    "tree-8-15-4",
    "tree-8-31-4",
    "linear-8-graphs-off",
    "a name that somebody else chose, and which goes on for much longer than any figure is wide",
)
LOADS = (1, 4, 8, 16, 32, 64, 80)
NASTY = "x\"|<script>alert(1)</script>&amp;\x00\x1b\ud800 漢字\n'--> ]]>"


def interval(value: float, spread: float | None = 0.1) -> Interval:
    low, high = (None, None) if spread is None else (value * (1 - spread), value * (1 + spread))
    return Interval(value, low, high, n=3, confidence=0.95, method="typed")


def speed(arm: int, load: float) -> float:
    return float(100.0 * (1 + 0.25 * arm) * load**0.8 / (1 + arm * load / 300))


def throughput_figure(arms: tuple[str, ...] = ARMS) -> throughput.ThroughputFigure:
    lines = [
        throughput.Line(
            arm, tuple(throughput.Point(load, interval(speed(number, load))) for load in LOADS)
        )
        for number, arm in enumerate(arms)
    ]
    return throughput.ThroughputFigure(tuple(lines))


def pareto_figure(arms: tuple[str, ...] = ARMS) -> pareto.ParetoFigure:
    points = [
        pareto.Point(arm, load, interval(speed(number, load) / load), interval(speed(number, load)))
        for number, arm in enumerate(arms)
        for load in LOADS
    ]
    return pareto.ParetoFigure(tuple(points))


def survival_figure(arms: tuple[str, ...] = ARMS) -> survival.SurvivalFigure:
    curves = [
        survival.Curve(arm, tuple(interval((0.5 + 0.05 * n) ** k) for k in range(1, 8)))
        for n, arm in enumerate(arms)
    ]
    return survival.SurvivalFigure(tuple(curves), where="concurrency 8")


def decomposition_figure(arms: tuple[str, ...] = ARMS) -> decomposition.DecompositionFigure:
    rounds, time, batch = 1.3, 0.9, 1.02
    factors = [
        decomposition.Factors(
            load=load,
            rounds=interval(rounds),
            round_time=interval(time),
            batch=interval(batch),
            product=rounds * time * batch,
            measured=interval(1.2),
            label=arms[-1],
        )
        for load in LOADS
    ]
    return decomposition.DecompositionFigure(arms[0], arms[-1], tuple(factors))


DRAWN: dict[str, Callable[[tuple[str, ...]], str]] = {
    "throughput": lambda arms: throughput.draw(throughput_figure(arms)),
    "pareto": lambda arms: pareto.draw(pareto_figure(arms)),
    "survival": lambda arms: survival.draw(survival_figure(arms)),
    "decomposition": lambda arms: decomposition.draw(decomposition_figure(arms)),
}
each_figure = pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)


def marks(svg: str) -> list[ElementTree.Element]:
    found = ElementTree.fromstring(svg).iter(f"{NS}g")
    return [mark for mark in found if "ddf-mark" in mark.get("class", "")]


def place(mark: ElementTree.Element) -> tuple[float, float]:
    (shape,) = (p for p in mark.iter(f"{NS}path") if p.get("class") == "ddf-shape")
    x, y = re.findall(r"[-\d.]+", shape.get("transform", ""))
    return float(x), float(y)


def upward_numbers(svg: str) -> list[tuple[float, float]]:
    """(y of the grid line, its number): each line is followed by its text."""
    parts = list(ElementTree.fromstring(svg))
    return [
        (float((line.get("d") or "").split()[1].split("H")[0]), float(number.text or ""))
        for line, number in pairwise(parts)
        if line.get("class") == "ddf-grid" and number.tag == f"{NS}text"
    ]


def value_at(y: float, numbers: list[tuple[float, float]], *, log: bool) -> float:
    (y0, low), (y1, high) = numbers[0], numbers[-1]
    share = (y - y0) / (y1 - y0)
    return low * (high / low) ** share if log else low + (high - low) * share


# ---------------------------------------------------------------- what they show


def test_throughput_stands_where_its_axis_says() -> None:
    svg = throughput.draw(throughput_figure())
    numbers = upward_numbers(svg)

    assert "tok/s (log scale)" in svg
    read = [value_at(place(mark)[1], numbers, log=True) for mark in marks(svg)]
    expected = [speed(number, load) for number in range(len(ARMS)) for load in LOADS]
    assert read == pytest.approx(expected, rel=0.01)


def test_shares_stand_where_their_axis_says() -> None:
    svg = survival.draw(survival_figure())
    numbers = upward_numbers(svg)

    read = [value_at(place(mark)[1], numbers, log=False) for mark in marks(svg)]
    expected = [(0.5 + 0.05 * n) ** k for n in range(len(ARMS)) for k in range(1, 8)]
    assert read == pytest.approx(expected, abs=0.002)


def test_values_that_lie_close_are_drawn_from_zero() -> None:
    points = tuple(throughput.Point(load, interval(100.0 + load)) for load in (1, 8))
    svg = throughput.draw(throughput.ThroughputFigure((throughput.Line("one", points),)))

    assert upward_numbers(svg)[0][1] == 0.0
    assert "tok/s (log scale)" not in svg


def test_bars_of_factors_start_at_one_and_add_up_to_the_product() -> None:
    factors = decomposition.Factors(
        8, interval(1.5), interval(0.8), interval(1.1), 1.32, interval(1.32)
    )
    svg = decomposition.draw(decomposition.DecompositionFigure("a", "b", (factors,)))

    bars = [next(r for r in m.iter(f"{NS}rect") if r.get("class") == "ddf-bar") for m in marks(svg)]
    spans = [(float(bar.get("x", "")), float(bar.get("width", ""))) for bar in bars]
    one = spans[0][0]
    signed = [width if x >= one - 0.1 else -width for x, width in spans]
    assert all(min(abs(x - one), abs(x + width - one)) < 0.2 for x, width in spans)
    assert sum(signed[:3]) == pytest.approx(signed[3], abs=0.5)
    assert signed[1] < 0.0


def test_the_frontier_holds_what_no_other_point_beats() -> None:
    points = pareto_figure().points

    best = pareto.frontier(points)

    def beaten(point: pareto.Point) -> bool:
        return any(
            other.tokens_per_s.value > point.tokens_per_s.value
            and other.tokens_per_s_user.value > point.tokens_per_s_user.value
            for other in points
        )

    assert {id(point) for point in best} == {id(p) for p in points if not beaten(p)}


def test_an_interval_that_leaves_the_axis_is_cut_and_said_in_full() -> None:
    wide = Interval(100.0, 0.0, 5000.0, 2, 0.95, "Student's t")
    line = throughput.Line("one", (throughput.Point(1, wide), throughput.Point(2, interval(90.0))))
    svg = throughput.draw(throughput.ThroughputFigure((line,)))

    assert upward_numbers(svg)[-1][1] <= 250.0
    assert "100 [0, 5000] n=3" not in svg
    assert "100 [0, 5000] n=2 tok/s" in svg


@pytest.mark.parametrize(
    "svg",
    [
        throughput.draw(throughput.ThroughputFigure(())),
        pareto.draw(pareto.ParetoFigure(())),
        survival.draw(survival.SurvivalFigure(())),
        decomposition.draw(decomposition.DecompositionFigure("a", "b", ())),
    ],
)
def test_a_figure_of_nothing_says_so(svg: str) -> None:
    said = [text.text for text in ElementTree.fromstring(svg).iter(f"{NS}text")]

    assert {"Nothing was measured.", "The factors could not be had."} & set(said)


# ---------------------------------------------------------------- who can read them


@each_figure
def test_every_mark_can_be_reached_and_heard(draw: Callable[[tuple[str, ...]], str]) -> None:
    found = marks(draw(ARMS))

    assert len(found) >= 28
    for mark in found:
        title = mark.find(f"{NS}title")
        assert mark.get("tabindex") == "0"
        assert mark.get("aria-label")
        assert title is not None
        assert title.text == mark.get("aria-label")


@each_figure
def test_a_figure_stands_alone(draw: Callable[[tuple[str, ...]], str]) -> None:
    svg = draw(ARMS)
    root = ElementTree.fromstring(svg)

    assert root.tag == f"{NS}svg"
    assert root.get("role") == "img"
    named = {element.get("id") for element in root.iter() if element.get("id")}
    assert set(root.get("aria-labelledby", "").split()) == named
    assert "prefers-color-scheme:dark" in svg
    assert not re.search(r"href|url\(|@import|<script|src=|on\w+=", svg)
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]


@each_figure
def test_no_two_words_touch(draw: Callable[[tuple[str, ...]], str]) -> None:
    """Boxes as wide as an ordinary sans-serif draws, 0.6 of the size a letter at most."""
    boxes = list(_boxes(ElementTree.fromstring(draw(ARMS))))

    for (one, a), (other, b) in combinations(boxes, 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart, f"{one!r} touches {other!r}"
    width = 480
    assert all(left >= 0 and right <= width for _, (left, _, right, _) in boxes)


def _boxes(root: ElementTree.Element) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    height = float(root.get("viewBox", "").split()[3])
    for text in root.iter(f"{NS}text"):
        kind, words = text.get("class"), text.text or ""
        if kind == "ddf-said":
            continue  # one at a time, on a line of its own
        size = 16.0 if kind == "ddf-heading" else 14.0
        x, y, width = float(text.get("x", "")), float(text.get("y", "")), 0.6 * size * len(words)
        assert y <= height
        if text.get("transform"):
            yield words, (x - size, y - width / 2, x + 0.2 * size, y + width / 2)
            continue
        left = {"start": x, "middle": x - width / 2, "end": x - width}[text.get("text-anchor", "")]
        yield words, (left, y - 0.75 * size, left + width, y + 0.2 * size)


def test_arms_differ_in_more_than_colour() -> None:
    arms = tuple(f"arm {number}" for number in range(24))
    svg = throughput.draw(throughput_figure(arms))

    looks = set()
    for mark in marks(svg)[:: len(LOADS)]:
        (shape,) = (p for p in mark.iter(f"{NS}path") if p.get("class") == "ddf-shape")
        looks.add((mark.get("class"), shape.get("d")))
    assert len(looks) == 24
    assert len({shape for _, shape in list(looks)[:8]}) > 1


def test_an_arm_looks_alike_in_every_figure_of_a_page() -> None:
    alone = survival.SurvivalFigure(survival_figure().curves[3:4], arm_order=ARMS)

    (together, *_) = (m for m in marks(throughput.draw(throughput_figure())) if _says(m, ARMS[3]))
    assert marks(survival.draw(alone))[0].get("class") == together.get("class")


def _says(mark: ElementTree.Element, words: str) -> bool:
    return words in (mark.get("aria-label") or "")


@pytest.mark.parametrize(("colours", "surface"), [(LIGHT, "#ffffff"), (DARK, "#0d1117")])
def test_colours_stand_out_from_their_background(colours: tuple[str, ...], surface: str) -> None:
    assert min(_contrast(colour, surface) for colour in colours) > 3.0


def _contrast(one: str, other: str) -> float:
    """WCAG 2.2, relative luminance."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), _linear(colour), strict=True))


def _linear(colour: str) -> list[float]:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


# Full severity, of linear RGB: Machado, Oliveira & Fernandes (2009), table 1.
PROTAN = ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
          (-0.003882, -0.048116, 1.051998))  # fmt: skip
DEUTAN = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
          (-0.011820, 0.042940, 0.968881))  # fmt: skip


@pytest.mark.parametrize("eyes", [PROTAN, DEUTAN], ids=["protan", "deutan"])
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_eyes_without_red_or_green_tell_colours_apart(
    colours: tuple[str, ...], eyes: tuple[tuple[float, ...], ...]
) -> None:
    """A distance of 0.02 can just be told apart."""
    seen = [[sum(m * c for m, c in zip(row, _linear(one), strict=True)) for row in eyes]
            for one in colours]  # fmt: skip

    distances = [math.dist(_oklab(a), _oklab(b)) for a, b in combinations(seen, 2)]

    assert min(distances) > 0.07


def _oklab(rgb: list[float]) -> tuple[float, float, float]:
    """Björn Ottosson, A perceptual color space for image processing (2020)."""
    r, g, b = (max(c, 0.0) for c in rgb)
    cone_l = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    cone_m = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    cone_s = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * cone_l + 0.7936177850 * cone_m - 0.0040720468 * cone_s,
        1.9779984951 * cone_l - 2.4285922050 * cone_m + 0.4505937099 * cone_s,
        0.0259040371 * cone_l + 0.7827717662 * cone_m - 0.8086757660 * cone_s,
    )


# ---------------------------------------------------------------- whatever they are given


@each_figure
def test_names_from_outside_stay_words(draw: Callable[[tuple[str, ...]], str]) -> None:
    svg = draw(("plain", NASTY))

    root = ElementTree.fromstring(svg)
    tags = {element.tag.removeprefix(NS) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "text", "path", "g", "circle",
                    "polyline"}  # fmt: skip
    assert any("<script>alert(1)</script>" in (e.text or "") for e in root.iter(f"{NS}title"))
    svg.encode()


@given(st.text())
def test_any_text_is_text(words: str) -> None:
    root = ElementTree.fromstring(f'<a b="{written(words)}">{written(words)}</a>')

    assert root.get("b") == (root.text or "")


numbers = st.floats(min_value=1e-9, max_value=1e12)
ends = st.none() | st.floats(min_value=-1e12, max_value=1e15)


loads = st.just(0.0) | st.floats(1e-3, 1e5)


@settings(max_examples=30)
@given(st.lists(st.tuples(loads, numbers, ends, ends), min_size=1, max_size=6))
def test_any_measurement_is_drawn_inside_the_figure(
    found: list[tuple[float, float, float | None, float | None]],
) -> None:
    intervals = [Interval(value, low, high, 2, 0.95, "any") for _, value, low, high in found]
    loads = [load for load, *_ in found]
    line = throughput.Line(
        "a", tuple(throughput.Point(x, y) for x, y in zip(loads, intervals, strict=True))
    )
    drawings = [
        throughput.draw(throughput.ThroughputFigure((line,))),
        pareto.draw(
            pareto.ParetoFigure(
                tuple(pareto.Point("a", x, y, y) for x, y in zip(loads, intervals, strict=True))
            )
        ),
    ]
    factors = tuple(decomposition.Factors(1, i, i, i, i.value, i) for i in intervals)

    for svg in drawings:
        assert all(0 <= x <= 480 and 0 <= y <= 480 for x, y in map(place, marks(svg)))
    svg = decomposition.draw(decomposition.DecompositionFigure("a", "b", factors))
    assert not re.search(r"\b(nan|inf)\b", svg)


def test_a_survival_curve_promises_only_intervals_that_there_are() -> None:
    known = survival.draw(survival_figure())
    bare = survival.draw(
        survival.SurvivalFigure(
            (survival.Curve("linear-8", (Interval(0.7, None, None, 48, 0.95, "too few"),)),)
        )
    )

    assert "with 95 % intervals" in known
    assert "intervals" not in bare
    assert 'class="ddf-whisker"' in known
    assert 'class="ddf-whisker"' not in bare
