from itertools import product
from xml.etree import ElementTree

from ddbench.report.heat_map import CELL_HEIGHT, CELL_WIDTH, UNKNOWN, Panel, render

SVG = "{http://www.w3.org/2000/svg}"
BUDGETS, TOPKS = tuple(range(1, 41)), (1, 2, 4)
KNOWN = {(b, k): b * k / 10 for b, k in product(BUDGETS, TOPKS) if b < 30}
PANEL = Panel("Tokens <a step>", "t/s", KNOWN, frozenset({(7, 4)}), best=(29, 4))


def fills(svg: str) -> dict[tuple[int, int], str]:
    """(budget, topk) -> colour, from where the rectangles lie."""
    (group,) = ElementTree.fromstring(svg).iter(f"{SVG}g")
    found: dict[tuple[int, int], str] = {}
    for rect in group.iter(f"{SVG}rect"):
        x, y, width = (int(rect.attrib[name]) for name in ("x", "y", "width"))
        if x >= CELL_WIDTH * len(BUDGETS):
            continue  # the legend
        for column in range(x // CELL_WIDTH, (x + width) // CELL_WIDTH):
            cell = BUDGETS[column], TOPKS[y // CELL_HEIGHT]
            assert cell not in found
            found[cell] = rect.attrib["fill"]
    return found


def brightness(colour: str) -> int:
    return sum(int(colour[at : at + 2], 16) * weight for at, weight in ((1, 30), (3, 59), (5, 11)))


def test_every_setting_has_its_colour_and_the_unknown_are_grey() -> None:
    found = fills(render([PANEL], budgets=BUDGETS, topks=TOPKS))

    assert set(found) == set(product(BUDGETS, TOPKS))
    assert {cell for cell, colour in found.items() if colour == UNKNOWN} == set(found) - set(KNOWN)


def test_more_is_brighter() -> None:
    found = fills(render([PANEL], budgets=BUDGETS, topks=TOPKS))

    by_value = [brightness(found[cell]) for cell in sorted(KNOWN, key=lambda cell: KNOWN[cell])]
    assert by_value == sorted(by_value)
    assert by_value[0] < by_value[-1]


def test_marks_say_what_they_are() -> None:
    svg = render([PANEL], budgets=BUDGETS, topks=TOPKS)

    titles = [title.text for title in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert titles == ["timed: budget 7, topk 4", "fastest tree: budget 29, topk 4, 11.6 t/s"]


def test_a_panel_of_which_nothing_is_known_is_grey() -> None:
    found = fills(render([Panel("Nothing", "t/s", {})], budgets=BUDGETS, topks=TOPKS))

    assert set(found.values()) == {UNKNOWN}
