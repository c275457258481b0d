"""YAML in which every value knows its file, line and key, so that an error can say where.

Read from PyYAML's node graph, because the usual loaders drop positions and let a key stand twice.
"""

import re
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import cast

import yaml

from ddbench.errors import PlanError

Scalar = str | int | float | bool | None

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Marked:
    """One value of the file. `content` is a scalar, a list of these, or a dict of these."""

    file: str
    line: int
    key: str  # "arms[2].tree.budget"; "" for the whole file
    content: object

    def error(self, problem: str, *, remedy: str) -> PlanError:
        """A PlanError that starts with where this value stands."""
        where = f"{self.file} line {self.line}"
        return PlanError(
            f"{where}, `{self.key}`: {problem}" if self.key else f"{where}: {problem}",
            remedy=remedy,
        )

    def mapping(self, known: Collection[str] | None = None) -> dict[str, "Marked"]:
        """The entries by name. Raises PlanError for another type, and for a key not in `known`."""
        if not isinstance(self.content, dict):
            raise self.error(
                f"expected keys with values, found {self.said()}",
                remedy="Write it as `key: value` lines, indented under it.",
            )
        entries = cast(dict[str, Marked], self.content)
        for name, value in entries.items():
            if known is not None and name not in known:
                close = get_close_matches(name, known, n=1)
                raise value.error(
                    f"unknown key {name!r}",
                    remedy=f"Did you mean `{close[0]}`? Known here: {', '.join(known)}."
                    if close
                    else f"Remove it; known here: {', '.join(known)}.",
                )
        return entries

    def items(self) -> list["Marked"]:
        """The values of a list that holds at least one; a single value is a list of one."""
        if not isinstance(self.content, list):
            return [self]
        if not self.content:
            raise self.error("the list is empty", remedy="Give it at least one value.")
        return cast(list[Marked], self.content)

    def integers(self, *, at_least: int) -> tuple[int, ...]:
        """Distinct integers, in the order of the file."""
        seen: dict[int, Marked] = {}
        for item in self.items():
            number = item.integer(at_least=at_least)
            if number in seen:
                raise item.error(f"{number} stands twice", remedy="Remove one of the two.")
            seen[number] = item
        return tuple(seen)

    def integer(self, *, at_least: int) -> int:
        if isinstance(self.content, bool) or not isinstance(self.content, int):
            raise self.error(
                f"expected a whole number, found {self.said()}",
                remedy=f"Write a whole number of at least {at_least}.",
            )
        if self.content < at_least:
            raise self.error(
                f"{self.content} is too small",
                remedy=f"Write a whole number of at least {at_least}.",
            )
        return self.content

    def number(self, *, at_least: float) -> float:
        if isinstance(self.content, bool) or not isinstance(self.content, int | float):
            raise self.error(
                f"expected a number, found {self.said()}", remedy="Write a plain number, like 0.7."
            )
        if not at_least <= self.content < float("inf"):
            raise self.error(
                f"{self.content} is out of range", remedy=f"Write a number of at least {at_least}."
            )
        return float(self.content)

    def flag(self) -> bool:
        if not isinstance(self.content, bool):
            raise self.error(
                f"expected true or false, found {self.said()}", remedy="Write true or false."
            )
        return self.content

    def text(self) -> str:
        if not isinstance(self.content, str) or not self.content:
            raise self.error(
                f"expected text, found {self.said()}",
                remedy="Write text; put quotes around it when it looks like something else.",
            )
        return self.content

    def require_file_name(self, name: str) -> None:
        """Raises PlanError unless `name` can stand in the names of files and folders."""
        if not _FILE_NAME.fullmatch(name):
            raise self.error(
                f"{name!r} cannot name a file or folder",
                remedy="Use letters, digits, dots, dashes and underscores.",
            )

    def one_of(self, choices: Collection[str]) -> str:
        if self.content not in choices:
            raise self.error(
                f"{self.said()} is not possible here",
                remedy=f"Write one of {', '.join(choices)}.",
            )
        return cast(str, self.content)

    def is_null(self) -> bool:
        return self.content is None

    def said(self) -> str:
        """The value as an error shows it."""
        match self.content:
            case None:
                return "nothing"
            case bool():
                return "true" if self.content else "false"
            case list():
                return "a list"
            case dict():
                return "keys with values"
            case _:
                return repr(self.content)


def read_text(path: Path) -> str:
    """The text of a sweep file. Raises PlanError when it is not there or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as cause:
        raise PlanError(
            f"{path} is not UTF-8 (byte {cause.start})", remedy="Save the file as UTF-8."
        ) from cause
    except OSError as cause:
        raise PlanError(
            f"cannot read {path}: {cause.strerror}", remedy="Check the name of the sweep file."
        ) from cause


def parse_marked(text: str, file: str) -> Marked:
    """The one document of `text`. Raises PlanError for a syntax error, a key that stands twice,
    a key that is not text, and an empty file."""
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            raise PlanError(f"{file} is empty", remedy="Start from one of the files in sweeps/.")
        return _mark(loader, root, file, key="", inside=())
    except yaml.MarkedYAMLError as cause:
        mark = cause.problem_mark or cause.context_mark
        line = f" line {mark.line + 1}" if mark else ""
        raise PlanError(
            f"{file}{line}: not YAML: {cause.problem or cause.context}",
            remedy="Check indentation, colons and quotes around that line.",
        ) from cause
    except yaml.reader.ReaderError as cause:
        number = text.count("\n", 0, cause.position) + 1
        raise PlanError(
            f"{file} line {number}: not YAML: it holds a character that YAML does not allow",
            remedy="Remove that control character.",
        ) from cause
    except RecursionError as cause:
        raise PlanError(f"{file} is nested too deeply", remedy="Write fewer brackets.") from cause


def _mark(
    loader: yaml.SafeLoader, node: yaml.Node, file: str, *, key: str, inside: tuple[int, ...]
) -> Marked:
    line = node.start_mark.line + 1
    here = Marked(file, line, key, None)
    if id(node) in inside:  # an alias to a value around it
        raise here.error("the value contains itself", remedy="Remove the alias (`*name`).")
    inside = (*inside, id(node))
    if isinstance(node, yaml.SequenceNode):
        items = [
            _mark(loader, item, file, key=f"{key}[{position}]", inside=inside)
            for position, item in enumerate(node.value)
        ]
        return Marked(file, line, key, items)
    if isinstance(node, yaml.MappingNode):
        entries: dict[str, Marked] = {}
        for name, name_line, value in _entries(loader, node, here):
            path = f"{key}.{name}" if key else name
            if name in entries:
                raise Marked(file, name_line, path, None).error(
                    "the key stands twice", remedy="Keep one of the two."
                )
            marked = _mark(loader, value, file, key=path, inside=inside)
            entries[name] = Marked(file, name_line, path, marked.content)
        return Marked(file, line, key, entries)
    return Marked(file, line, key, _scalar(loader, node, here))


def _entries(
    loader: yaml.SafeLoader, node: yaml.MappingNode, here: Marked
) -> Iterator[tuple[str, int, yaml.Node]]:
    for name_node, value in node.value:
        if name_node.value == "<<":
            raise here.error("merge keys (`<<`) are not read", remedy="Write the keys out.")
        line = name_node.start_mark.line + 1
        name = _scalar(loader, name_node, here) if isinstance(name_node, yaml.ScalarNode) else None
        if not isinstance(name, str):
            raise here.error(
                f"the key on line {line} is not text", remedy="Put quotes around the key."
            )
        yield name, line, value


def _scalar(loader: yaml.SafeLoader, node: yaml.Node, here: Marked) -> Scalar:
    value: Hashable
    try:
        value = loader.construct_object(node)
    except ValueError as cause:  # a tag that the text does not fit: `2026-99-99`
        raise here.error(
            f"unreadable value ({cause})", remedy="Put quotes around the value."
        ) from cause
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise here.error(
        f"a value of kind {type(value).__name__} has no use here",
        remedy="Put quotes around the value.",
    )
