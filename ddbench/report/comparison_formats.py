"""Sections for a terminal and as GitHub-flavoured Markdown."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ddbench.report.gfm import block, code, escaped, prose, table
from ddbench.report.sections import (
    Cell,
    Figure,
    Said,
    Section,
    Strong,
    Told,
    Words,
    plain,
    words_of,
)


def comparison_markdown(sections: Sequence[Section], *, level: int = 2) -> str:
    """Headings of `level`, ending in a newline; renders on GitHub, also as a comment."""
    parts = [part for section in sections for part in section_markdown(section, level=level)]
    return "\n\n".join(parts) + "\n"


def section_markdown(section: Section, *, level: int, figure_files: bool = False) -> Iterator[str]:
    """Paragraphs. figure_files: the figures stand beside the Markdown, each under its name."""
    if section.title:
        yield f"{'#' * level} {section.title}"
    if section.sentences:
        yield "\n".join(f"- {in_markdown(sentence)}" for sentence in section.sentences)
    if figure_files:
        yield from map(_figure, section.figures)
    if section.header:
        rows = [[in_markdown(cell) for cell in row] for row in section.rows]
        yield table(section.header, rows)
    for what, text in section.quotes:
        yield f"{in_markdown(what)}:"
        yield block(text)
    yield from map(in_markdown, section.after)


def in_markdown(cell: Cell) -> str:
    """On one line."""
    return "".join(map(_word, words_of(cell)))


def _word(word: Words) -> str:
    if isinstance(word, Said):
        return code(word.text)
    if isinstance(word, Told):
        return prose(word.text)
    if isinstance(word, Strong):
        return f"**{escaped(word.text)}**"
    return escaped(word if isinstance(word, str) else word.text)


def _figure(figure: Figure) -> str:
    return f"![{in_markdown(figure.caption)}]({figure.name}.svg)"


def comparison_text(sections: Sequence[Section]) -> RenderableType:
    """For `rich`; text of others is never taken for markup."""
    parts: list[RenderableType] = []
    for section in sections:
        parts.append(Text(section.title, style="bold"))
        parts += [Text(f"  {plain(sentence)}") for sentence in section.sentences]
        if section.header:
            parts.append(_table(section))
        parts.append(Text())
    return Group(*parts[:-1])


def _table(section: Section) -> Table:
    shown = Table(box=None, padding=(0, 1), pad_edge=True, header_style="dim")
    for header in section.header:
        shown.add_column(header, overflow="fold")
    for row in section.rows:
        shown.add_row(*(Text(plain(cell)) for cell in row))
    return shown
