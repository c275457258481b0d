"""A comparison as plain sections, before it becomes a terminal's text or Markdown."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """Text that is not ours, such as an arm's name: each format escapes it in its own way."""

    text: str


Words = str | Said
Sentence = tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A title, sentences, and below them a table; without a header there is no table."""

    title: str
    sentences: tuple[Sentence, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[Sentence, ...] = ()  # one entry a column
