"""A comparison's sections for a terminal and as GitHub-flavoured Markdown."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ddbench.report.gfm import code, table
from ddbench.report.sections import Said, Section, Sentence, Words


def comparison_markdown(sections: Sequence[Section], *, level: int = 2) -> str:
    """Headings of `level`, ending in a newline; renders on GitHub, also as a comment."""
    parts: list[str] = []
    for section in sections:
        parts.append(f"{'#' * level} {section.title}")
        if section.sentences:
            parts.append("\n".join(f"- {_markdown(sentence)}" for sentence in section.sentences))
        if section.header:
            rows = [[_markdown((cell,)) for cell in row] for row in section.rows]
            parts.append(table(section.header, rows))
    return "\n\n".join(parts) + "\n"


def comparison_text(sections: Sequence[Section]) -> RenderableType:
    """For `rich`; text of others is never taken for markup."""
    parts: list[RenderableType] = []
    for section in sections:
        parts.append(Text(section.title, style="bold"))
        parts += [Text(f"  {_plain(sentence)}") for sentence in section.sentences]
        if section.header:
            parts.append(_table(section))
        parts.append(Text())
    return Group(*parts[:-1])


def _table(section: Section) -> Table:
    shown = Table(box=None, padding=(0, 1), pad_edge=True, header_style="dim")
    for header in section.header:
        shown.add_column(header, overflow="fold")
    for row in section.rows:
        shown.add_row(*(Text(_plain((cell,))) for cell in row))
    return shown


def _markdown(sentence: Sentence) -> str:
    return "".join(
        code(word.text) if isinstance(word, Said) else _escaped(word) for word in sentence
    )


def _escaped(text: str) -> str:
    """Ours, with the characters of it that GitHub would take for markup."""
    return text.replace("<", "&lt;")


def _plain(sentence: Sentence) -> str:
    return "".join(_visible(word) for word in sentence)


def _visible(word: Words) -> str:
    text = word.text if isinstance(word, Said) else word
    return "".join(c if c.isprintable() else "�" for c in text)
