"""`ddbench report html`: the chapters of a report as one page that needs no network.

The template escapes every text; only the figures, which are drawn here, go in as they are. The
page forbids itself all requests, and every script but its own.
"""

import base64
import hashlib
import re
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from ddbench import __version__
from ddbench.report.chapters import chapters, engine_note, headline
from ddbench.report.content import Report
from ddbench.report.sections import Cell, Measured, Said, Strong, Words, plain, visible, words_of

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def render_page(report: Report) -> str:
    """A whole HTML document, ending in a newline."""
    script, style = _file("page.js"), _file("page.css")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        words=words_of,
        kind=_kind,
        shown=_shown,
        code=_code,
        plain=plain,
        lines=_lines,
        tip=_tip,
        sort_key=_sort_key,
    )
    return environment.from_string(_file("page.html.j2")).render(
        run=visible(report.run),
        engine=engine_note(report),
        headline=headline(report),
        chapters=list(chapters(report)),
        version=__version__,
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=Markup(style),
        svg=Markup,
    )


def _file(name: str) -> str:
    return (files("ddbench.report") / "page_files" / name).read_text(encoding="utf-8")


def _kind(word: Words) -> str:
    if isinstance(word, Measured):
        return "absent" if word.interval is None else "measured"
    if isinstance(word, Strong):
        return "strong"
    return "said" if isinstance(word, Said) else "text"


def _shown(word: Words) -> str:
    return visible(word if isinstance(word, str) else word.text)


def _lines(text: str) -> str:
    return "\n".join(visible(line) for line in text.splitlines())


def _code(word: Words) -> list[tuple[bool, str]]:
    """The parts of a text, and whether they stand in backticks: escaped they are harmless."""
    parts = _shown(word).split("`")
    if len(parts) % 2 == 0:  # one that nothing closes
        return [(False, _shown(word))]
    return [(bool(number % 2), part) for number, part in enumerate(parts)]


def _tip(cell: Cell, column: str) -> str | None:
    """All that is known of a number, in more digits than the table has room for."""
    if not isinstance(cell, Measured) or cell.interval is None:
        return None
    found = cell.interval
    bounds = "no interval"
    if found.low is not None and found.high is not None:
        low, high = (f"{bound * cell.scale:.5g}{cell.units}" for bound in (found.low, found.high))
        bounds = f"{found.confidence:.0%} interval {low} to {high}"
    label = f" {cell.label}." if cell.label else ""
    return (
        f"{column}: {found.value * cell.scale:.5g}{cell.units}, {bounds}, n={found.n}. "
        f"{found.method}.{label}"
    )


def _sort_key(cell: Cell) -> str | None:
    """A number to sort by, where the cell is one or begins with one."""
    if isinstance(cell, Measured):
        return None if cell.interval is None else repr(cell.interval.value)
    match = _NUMBER.match(plain(cell))
    return match.group() if match and not isinstance(cell, Said) else None
