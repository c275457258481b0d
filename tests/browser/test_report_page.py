"""The HTML report in a real Chromium: light and dark, wide and narrow, by keyboard."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddbench.checks.finding import Finding, Severity
from ddbench.checks.run import Report as Checked
from ddbench.records import (
    ClientHealth,
    Counters,
    Environment,
    Failure,
    Launch,
    LoadConfig,
    LogExcerpt,
    RequestFailed,
    RunResult,
    ServerConfig,
    Speculation,
    Trial,
)
from ddbench.report.assemble import assemble
from ddbench.report.page import render_page

pytestmark = pytest.mark.browser
Open = Callable[..., Any]
NASTY = "x|y `z` <script>alert(1)</script><img src=x onerror=alert(2)>\n\"' &amp; {{ 7*7 }} ‮é"
LONG = "word" * 60
EVERYWHERE = [(theme, width) for theme in ("light", "dark") for width in (1280, 390)]


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every text that comes from outside tries to break out; names are long, too."""
    server = ServerConfig("sglang", NASTY, LONG, Speculation("DFLASH", 8), 8, ((NASTY, NASTY),))
    result = RunResult(
        key="1",
        trial=Trial(NASTY, server, LoadConfig(NASTY, 2, 1, 64)),
        started_at=NASTY,
        requests=(RequestFailed(LONG, 0.0, 0.0, NASTY),),
        wall_s=1.0,
        client=ClientHealth(0.0, 0.0, 0),
        log=LogExcerpt(),
        counters_before=Counters(),
        counters_after=Counters(),
        failure=Failure(NASTY, f"{NASTY}\n{LONG}", LONG),
    )
    launch = Launch(server, (), LONG, 1.0, Environment({NASTY: LONG}, {LONG: NASTY}), None)
    finding = Finding("DDB101", Severity.ERROR, NASTY, f"{NASTY} {LONG}", NASTY)
    report = assemble(
        NASTY, [launch], [result, replace(result, key="2")], checked=Checked((finding,), ())
    )
    page = tmp_path_factory.mktemp("hostile") / "hostile.html"
    page.write_text(render_page(report), encoding="utf-8")
    return page


def assert_quiet(page: Any, path: Path) -> None:
    """No error, no dialog, and nothing asked for but the page itself."""
    assert page.said("Runtime.exceptionThrown", "Runtime.consoleAPICalled") == []
    assert page.said("Log.entryAdded", "Page.javascriptDialogOpening") == []
    asked = [event["request"]["url"] for event in page.said("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]


# What stands outside of the page's width, though no box of its own scrolls it.
OUTSIDE = """
[...document.body.querySelectorAll("*")].filter((element) => {
  const box = element.getBoundingClientRect();
  const inBox = element.closest(".scroll, pre, .skip, svg");
  return box.width && !inBox && (box.left < 0 || box.right > window.innerWidth + 0.5);
}).map((element) => element.outerHTML.slice(0, 200))
"""
# Headings whose text is cut off, and pairs of texts that lie on each other.
CLIPPED = """
[...document.querySelectorAll("h1, h2, h3")].filter(
  (heading) => heading.scrollWidth > heading.clientWidth + 1
    || heading.scrollHeight > heading.clientHeight + 4
).map((heading) => heading.textContent)
"""
OVERLAPPING = """
(() => {
  const texts = [...document.querySelectorAll("h1, h2, h3, header p, header li, main p, main li")];
  const boxes = texts.map((text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    return [text.textContent, range.getBoundingClientRect()];
  });
  const found = [];
  boxes.forEach(([one, a], number) => boxes.slice(number + 1).forEach(([other, b]) => {
    const apart = a.right <= b.left || b.right <= a.left
      || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    if (!apart) found.push([one, other]);
  }));
  return found;
})()
"""
# Contrast as WCAG 2 defines it, of each kind of text on the page's ground.
CONTRASTS = """
(() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = light(getComputedStyle(document.body).backgroundColor);
  const kinds = ["h1", "h2", "p", ".headline", ".engine", "a[href^='#']:not(.skip)", "th button",
    "td", ".n", ".bounds", ".after", "footer p", "#theme"];
  return kinds.map((kind) => {
    const ink = light(getComputedStyle(document.querySelector(kind)).color);
    return [kind, (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05)];
  });
})()
"""
GROUND = "getComputedStyle(document.body).backgroundColor"
FIRST_TABLE = "document.querySelector('#results table')"


def header(column: str) -> str:
    return f"[...{FIRST_TABLE}.tHead.rows[0].cells].find((cell) => cell.textContent === '{column}')"


def column_texts(page: Any, column: str) -> list[str]:
    index = page.run(f"{header(column)}.cellIndex")
    texts: list[str] = page.run(
        f"[...{FIRST_TABLE}.tBodies[0].rows].map((row) => row.cells[{index}].innerText)"
    )
    return texts


@pytest.mark.parametrize(("theme", "width"), EVERYWHERE)
def test_the_report_is_clean(report_page: Path, open_page: Open, theme: str, width: int) -> None:
    page = open_page(report_page, width=width, theme=theme)

    assert_quiet(page, report_page)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run(OUTSIDE) == []
    assert page.run(CLIPPED) == []
    assert page.run(OVERLAPPING) == []
    poor = {kind: ratio for kind, ratio in page.run(CONTRASTS) if ratio < 4.5}
    assert poor == {}


@pytest.mark.parametrize(("theme", "width"), EVERYWHERE)
def test_text_from_outside_breaks_nothing(
    hostile_page: Path, open_page: Open, theme: str, width: int
) -> None:
    page = open_page(hostile_page, width=width, theme=theme)

    assert_quiet(page, hostile_page)
    assert page.run("document.scripts.length") == 1
    assert page.run("document.images.length") == 0
    assert page.run("document.querySelectorAll('main a').length") == 0
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run(OUTSIDE) == []
    assert page.run(CLIPPED) == []
    assert page.run(OVERLAPPING) == []
    assert "<script>alert(1)</script>" in page.run("document.querySelector('h1').textContent")


def test_dark_is_darker_than_light(report_page: Path, open_page: Open) -> None:
    grounds = [
        open_page(report_page, theme=theme).run(f"{GROUND}.match(/\\d+/g).map(Number)")
        for theme in ("dark", "light")
    ]

    assert max(grounds[0]) < 64 < 192 < min(grounds[1])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_button_shows_the_other_theme_and_back(
    report_page: Path, open_page: Open, theme: str
) -> None:
    page = open_page(report_page, theme=theme)
    before = page.run(GROUND)
    named = page.run("document.getElementById('theme').textContent")

    page.run("document.getElementById('theme').focus()")
    page.press("Enter")
    other = page.run(GROUND)
    page.press("Enter")

    assert named == {"light": "Dark", "dark": "Light"}[theme]
    assert other != before
    assert page.run(GROUND) == before


def test_a_table_is_sorted_by_keyboard(report_page: Path, open_page: Open) -> None:
    page = open_page(report_page)
    as_written = column_texts(page, "tok/s")

    page.run(f"{header('tok/s')}.querySelector('button').focus()")
    page.press("Enter")
    upwards = column_texts(page, "tok/s")
    first_state = page.run(f"{header('tok/s')}.getAttribute('aria-sort')")
    page.press("Enter")
    downwards = column_texts(page, "tok/s")

    def number(text: str) -> float:
        return float(text.split()[0])

    assert sorted(upwards) == sorted(as_written)
    assert upwards != as_written
    assert list(map(number, upwards)) == sorted(map(number, as_written))
    assert list(map(number, downwards)) == sorted(map(number, as_written), reverse=True)
    assert first_state == "ascending"
    assert page.run(f"{header('tok/s')}.getAttribute('aria-sort')") == "descending"
    assert page.run(f"{FIRST_TABLE}.querySelectorAll('[aria-sort=none]').length") == 10


def test_names_are_sorted_as_words_and_what_is_missing_comes_last(
    report_page: Path, open_page: Open
) -> None:
    page = open_page(report_page)

    page.run(f"{header('arm')}.querySelector('button').click()")
    arms = column_texts(page, "arm")
    speedups = "document.querySelector('#speedups table')"
    for _ in range(2):
        page.run(f"[...{speedups}.querySelectorAll('button')].at(-1).click()")
        last = page.run(f"[...{speedups}.tBodies[0].rows].at(-1).cells[5].innerText")
        assert last == "-"

    assert [arm for n, arm in enumerate(arms) if arm not in arms[:n]] == [
        *("autoregressive", "linear-8", "tree-8-7-1", "tree-8-7-4", "tree-8-15-4", "tree-8-31-4"),
    ]


def test_the_keyboard_reaches_what_a_number_has_to_say(report_page: Path, open_page: Open) -> None:
    page = open_page(report_page)
    shown = (
        "document.getElementById('tip').hidden ? null : document.getElementById('tip').innerText"
    )

    page.run(f"{FIRST_TABLE}.querySelector('[data-tip]').focus()")
    first = page.run(shown)
    page.press("ArrowRight")
    second = page.run(shown)
    page.press("ArrowDown")
    third = page.run(shown)
    page.press("Escape")

    assert first.startswith("tok/s: ")
    assert "95% interval" in first
    assert second.startswith("TPOT ms: ")
    assert third.startswith("TPOT ms: ")
    assert third != second
    assert page.run(shown) is None
    assert page.run(f"{FIRST_TABLE}.querySelectorAll('td[tabindex=\"0\"]').length") == 1


def test_a_figure_is_one_stop_and_arrows_go_through_its_marks(
    report_page: Path, open_page: Open
) -> None:
    page = open_page(report_page)
    figure = "document.querySelector('#results svg.ddf')"
    said = "getComputedStyle(document.activeElement.querySelector('.ddf-said')).visibility"

    page.run(f"{figure}.querySelector('.ddf-mark').focus()")
    first = page.run("document.activeElement.getAttribute('aria-label')")
    page.press("ArrowRight")
    second = page.run("document.activeElement.getAttribute('aria-label')")

    assert "concurrency 1, autoregressive" in first
    assert "concurrency 4, autoregressive" in second
    assert page.run(said) == "visible"
    assert page.run(f"{figure}.querySelectorAll('.ddf-mark[tabindex=\"0\"]').length") == 1


def test_a_pointer_reaches_it_too(report_page: Path, open_page: Open) -> None:
    page = open_page(report_page)
    cell = f"{FIRST_TABLE}.querySelector('[data-tip]')"
    page.run(f"{cell}.scrollIntoView({{block: 'center'}})")
    x, y = page.run(
        f"(() => {{ const b = {cell}.getBoundingClientRect(); return [b.x + 9, b.y + 9]; }})()"
    )

    page.point_at(x, y)

    assert page.run("document.getElementById('tip').hidden") is False
    assert page.run("document.getElementById('tip').getBoundingClientRect().width") > 100


def test_the_first_tab_offers_to_skip_to_the_findings(report_page: Path, open_page: Open) -> None:
    page = open_page(report_page)

    page.press("Tab")
    offered = page.run("document.activeElement.textContent")
    visible = page.run("document.activeElement.getBoundingClientRect().left >= 0")
    outline = page.run("getComputedStyle(document.activeElement).outlineStyle")
    page.press("Enter")

    assert offered == "Skip to the findings"
    assert visible
    assert outline == "solid"
    assert page.run("location.hash") == "#findings"
