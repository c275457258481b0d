"""A report as plain sections, before it becomes a terminal's text, Markdown or HTML."""

from dataclasses import dataclass

from ddbench.report.numbers import NOT_MEASURED, number_texts
from ddbench.stats.interval import Interval


@dataclass(frozen=True, slots=True)
class Said:
    """Text that is not ours, such as an arm's name: each format escapes it in its own way."""

    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence of ours with text of others in it, such as a finding's message."""

    text: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its interval; None is not measured. `label` stands beside it, in brackets.

    is_brief: where there is no room, the value alone; what n is must be said nearby.
    """

    interval: Interval | None
    scale: float = 1.0
    units: str = ""
    label: str | None = None
    is_brief: bool = False

    @property
    def text(self) -> str:
        """`3.26x [3.10, 3.42] n=48 (unlike conditions)`"""
        if self.interval is None:
            return NOT_MEASURED
        parts = (*self.parts, f"({self.label})" if self.label else "")
        return " ".join(part for part in parts if part)

    @property
    def parts(self) -> tuple[str, str, str]:
        """The value, its bounds and n; "" for what is not shown. Only of what was measured."""
        assert self.interval is not None
        value, bounds, n = number_texts(self.interval, scale=self.scale, units=self.units)
        return (value, "", "") if self.is_brief else (value, bounds, n)


@dataclass(frozen=True, slots=True)
class Strong:
    """A word of ours that must be seen first."""

    text: str


Words = str | Said | Told | Strong | Measured
Sentence = tuple[Words, ...]
Cell = Words | Sentence


@dataclass(frozen=True, slots=True)
class Figure:
    """An SVG document. name: of its file, without an ending. is_wide: wider than a narrow page."""

    name: str
    caption: Sentence
    svg: str
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A title, sentences, a table below them, then quotes (of what, the text) and `after`.

    Without a header there is no table; without a title the section belongs to the one before.
    """

    title: str
    sentences: tuple[Sentence, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()  # one cell a column
    quotes: tuple[tuple[Sentence, str], ...] = ()
    after: tuple[Sentence, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True)
class Chapter:
    """A main heading of a report. key: an id for links. paragraph: before its sections."""

    key: str
    title: str
    paragraph: Sentence = ()
    sections: tuple[Section, ...] = ()


def words_of(cell: Cell) -> Sentence:
    return cell if isinstance(cell, tuple) else (cell,)


def plain(cell: Cell) -> str:
    """What a reader sees, without any markup; invisible characters are shown as U+FFFD."""
    return "".join(visible(w if isinstance(w, str) else w.text) for w in words_of(cell))


def visible(text: str) -> str:
    """On one line; control and invisible characters, such as those that reverse it, show."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "�" for c in text)
