"""What every figure shares: the document around it, its style, its text."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from html import escape

WIDTH = 480  # of the drawing; shown 640 wide, and still readable on a phone at 360
SHOWN_WIDTH = 640
MARGIN = 12
SERIES = 8
LETTER = 0.61  # of the font size: the width of a character in a typewriter face

# Dark enough on white and bright enough on black (3 to 1 at least), and no two alike to eyes that
# lack red or green; shape and dash tell arms apart where colour does not.
LIGHT = ("#0d60d5", "#e83b11", "#09946b", "#b677c7", "#6b3f00", "#3d444d", "#511db6", "#c27797")
DARK = ("#5ab2fb", "#f08337", "#39d9a0", "#cb7aa9", "#f9e745", "#e6e6e6", "#907dfe", "#a0a179")
_PAINT = {  # variable -> (light, dark)
    "surface": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "muted": ("#59636e", "#9da7b1"),
    "grid": ("#d8dee4", "#30363d"),
    "focus": ("#0d60d5", "#5ab2fb"),
}
_ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(title: str, description: str, height: float, parts: Iterable[str]) -> str:
    """A stand-alone SVG document, ending in a newline, that may also stand inside HTML."""
    body = "\n".join(parts)
    said = f"{written(title)}{written(description)}{body}"
    own = "ddf-" + hashlib.sha256(said.encode()).hexdigest()[:10]
    shown = round(height * SHOWN_WIDTH / WIDTH)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ddf" role="img" '
        f'aria-labelledby="{own}-title {own}-desc" width="{SHOWN_WIDTH}" height="{shown}" '
        f'viewBox="0 0 {WIDTH} {height:g}" style="max-width:100%;height:auto">\n'
        f'<title id="{own}-title">{written(title)}</title>\n'
        f'<desc id="{own}-desc">{written(description)}</desc>\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect class="ddf-surface" width="{WIDTH}" height="{height:g}"/>\n'
        f"{text(MARGIN, 24, title, kind='heading', room=WIDTH - 2 * MARGIN)}\n"
        f"{body}\n</svg>\n"
    )


def written(words: str) -> str:
    """Escaped for text and attributes; characters that no XML may hold become U+FFFD."""
    return escape(_ILLEGAL.sub("\ufffd", " ".join(words.split())), quote=True)


def text(
    x: float,
    y: float,
    words: str,
    *,
    kind: str = "label",
    anchor: str = "start",
    room: float | None = None,
    turned: bool = False,
) -> str:
    """One line; where it is longer than `room` it ends in an ellipsis."""
    size = FONT_SIZES[kind]
    fitted = words if room is None else shortened(words, int(room / (size * LETTER)))
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return (
        f'<text class="ddf-{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>'
        f"{written(fitted)}</text>"
    )


def width_of(words: str, kind: str = "label") -> float:
    """At most so wide, in units of the drawing."""
    return columns(words) * FONT_SIZES[kind] * LETTER


def columns(words: str) -> int:
    """Characters of a typewriter face; those of East Asia take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in words)


def shortened(words: str, room: int) -> str:
    """`words` in at most `room` columns."""
    words = " ".join(words.split())
    if columns(words) <= room:
        return words
    kept = words
    while kept and columns(kept) > room - 1:
        kept = kept[:-1]
    return kept.rstrip() + "…"


FONT_SIZES = {"heading": 16, "label": 14, "name": 14, "said": 12.5}


def _variables(theme: int) -> str:
    """Each twice, for programs that draw SVG and know no variables."""
    colours = (LIGHT, DARK)[theme]
    rules = [
        f".ddf-s{n}{{color:{colour};color:var(--series-{n},{colour})}}"
        for n, colour in enumerate(colours, start=1)
    ]
    paint = {name: shades[theme] for name, shades in _PAINT.items()}
    for name, uses in _USES.items():
        rules += [
            f"{selector}{{{what}:{paint[name]};{what}:var(--{name},{paint[name]})}}"
            for selector, what in uses
        ]
    return "".join(rules)


_USES = {
    "surface": ((".ddf-surface", "fill"), (".ddf-shape", "stroke")),
    "ink": (
        (".ddf-heading,.ddf-name,.ddf-said", "fill"),
        (".ddf-axis", "stroke"),
        (".ddf-measured", "color"),
    ),
    "muted": ((".ddf-label", "fill"), (".ddf-frontier", "stroke"), (".ddf-factor", "color")),
    "grid": ((".ddf-grid", "stroke"),),
    "focus": ((".ddf-mark:focus .ddf-ring", "stroke"),),
}
_TYPEWRITER = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
_STYLE = (
    f".ddf text{{font:{FONT_SIZES['label']}px system-ui,sans-serif;stroke:none}}"
    f".ddf .ddf-heading{{font-size:{FONT_SIZES['heading']}px;font-weight:600}}"
    f".ddf .ddf-name{{font-family:{_TYPEWRITER}}}"
    f".ddf .ddf-said{{font:{FONT_SIZES['said']}px {_TYPEWRITER};visibility:hidden}}"
    ".ddf-mark:hover .ddf-said,.ddf-mark:focus .ddf-said{visibility:visible}"
    ".ddf-mark:focus{outline:none}"
    ".ddf-ring{fill:none;stroke:none;stroke-width:2}"
    ".ddf-hit{fill:transparent}"
    ".ddf-axis,.ddf-grid{fill:none;stroke-width:1}"
    ".ddf-line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}"
    ".ddf-whisker{fill:none;stroke:currentColor;stroke-width:1.4}"
    ".ddf-shape{fill:currentColor;stroke-width:1}"
    ".ddf-bar{fill:currentColor;fill-opacity:.55}"
    ".ddf-frontier{fill:none;stroke-width:1.5;stroke-dasharray:2 4}"
    + _variables(0)
    + "@media (prefers-color-scheme:dark){"
    + _variables(1)
    + "}"
)
