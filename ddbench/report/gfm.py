"""GitHub-flavoured Markdown from text that is not ours: nothing in it may become markup."""

import re
from collections.abc import Iterable, Sequence

LONGEST = 300  # characters in a code span


def code(text: str) -> str:
    """`text` as a code span on one line: no markup, link or mention inside one comes alive."""
    line = _one_line(text)
    if not line:
        return "(empty)"
    fence = "`" * (_longest_run_of_backticks(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


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


def _one_line(text: str) -> str:
    line = _printable(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _printable(line: str) -> str:
    """Control and invisible characters, such as those that reverse a line, become visible."""
    return "".join(c if c.isprintable() else "�" for c in line.replace("\t", "    "))


def _longest_run_of_backticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
