"""GitHub-flavoured Markdown from text that is not ours: nothing in it may become markup."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from ddbench.report.sections import visible

LONGEST = 300  # characters in a code span

_HARMLESS = re.compile(
    r"""[("']*[^\W_]          # a letter or digit, perhaps behind a bracket or quote
        (?:[^\W_]|[.,;%'"()+=-]|/(?!/))*
        [:?!.,;)"']*          # no colon inside: ":smile:" is one to GitHub
        |[=+/%-][,;)]*        # alone: only the first word of a line is ever a mark
    """,
    re.VERBOSE,
)
_QUOTED = re.compile(r"(?<!\S)`([^`\s][^`]*)`([.,;:!?)]*)(?!\S)")
_LINKED = re.compile(r"""[("']*(?:www\.|GH-\d)""", re.IGNORECASE)
_NUMBERED = re.compile(r"\d+[.)]|\W")  # as the first word: an item of a list, or a rule


def code(text: str) -> str:
    """`text` as a code span on one line: no markup, link or mention inside one comes alive."""
    line = _one_line(text)
    if not line:
        return "(empty)"
    fence = "`" * (_longest_run_of_backticks(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def prose(text: str) -> str:
    """`text` as a sentence; words that could be markup, a link or a mention become code spans.

    What stands in backticks between spaces is a code span already, and stays one.
    """
    line = _printable(" ".join(text.split()))
    parts: list[str] = []
    done = 0
    for match in _QUOTED.finditer(line):
        parts += [*_spans(line[done : match.start()], first=not done), code(match[1]) + match[2]]
        done = match.end()
    parts += _spans(line[done:], first=not done)
    return " ".join(parts) or "(empty)"


def _spans(text: str, *, first: bool) -> list[str]:
    """Runs of harmless words as they are, all others as one code span a run."""
    judged = [
        (_is_harmless(word) and not (first and not number and _NUMBERED.fullmatch(word)), word)
        for number, word in enumerate(text.split())
    ]
    spans = []
    for harmless, group in groupby(judged, key=lambda one: one[0]):
        joined = " ".join(word for _, word in group)
        spans.append(joined if harmless else code(joined))
    return spans


def escaped(text: str) -> str:
    """Ours, with the characters of it that GitHub would take for markup."""
    return text.replace("<", "&lt;")


def block(text: str) -> str:
    """`text` as a fenced block, whatever it holds."""
    lines = [_printable(line) for line in text.splitlines()]
    fence = "`" * max(3, _longest_run_of_backticks(text) + 1)
    return "\n".join([f"{fence}text", *lines, fence])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown already, on one line, and their pipes are escaped here."""
    lines = [_row(header), _row(["---"] * len(header))]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"{len(row)} cells under {len(header)} headers")
        lines.append(_row(row))
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _is_harmless(word: str) -> bool:
    return bool(_HARMLESS.fullmatch(word)) and not _LINKED.match(word)


def _one_line(text: str) -> str:
    line = _printable(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _printable(line: str) -> str:
    return visible(line.replace("\t", "    "))


def _longest_run_of_backticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
