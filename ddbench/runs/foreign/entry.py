"""Fields of a result file by name. Absent or null is None; of another kind is an error."""

from collections.abc import Mapping
from math import inf, isfinite, isnan
from typing import Any

from ddbench.errors import LogFormatError

SHOWN = 60


class Entry:
    """One JSON object of a result file; `where` names it in errors."""

    def __init__(self, fields: Mapping[str, Any], where: str) -> None:
        self.fields = fields
        self.where = where

    def has(self, *names: str) -> bool:
        return all(name in self.fields for name in names)

    def number(self, name: str) -> float | None:
        """A number of at least 0; "inf" and a bare Infinity are infinite, as tools write rates."""
        value = self.fields.get(name)
        if value is None:
            return None
        if value == "inf":
            return inf
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, "a number")
        if isnan(value) or value < 0:
            raise self.wrong(name, "a number of at least 0")
        return inf if value > 1e300 else float(value)

    def finite(self, name: str) -> float | None:
        value = self.number(name)
        if value is not None and not isfinite(value):
            raise self.wrong(name, "a finite number")
        return value

    def count(self, name: str) -> int | None:
        value = self.finite(name)
        if value is not None and value != int(value):
            raise self.wrong(name, "a whole number")
        return None if value is None else int(value)

    def text(self, name: str) -> str | None:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "a text")
        return value

    def values(self, name: str) -> list[Any] | None:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, list):
            raise self.wrong(name, "a list")
        return value

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """A list of finite numbers of at least 0."""
        values = self.values(name)
        if values is None:
            return None
        found = [Entry({name: value}, self.where).finite(name) for value in values]
        numbers = tuple(value for value in found if value is not None)
        if len(numbers) < len(values):
            raise self.wrong(name, "a list of numbers")
        return numbers

    def inner(self, name: str) -> "Entry | None":
        value = self.fields.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return Entry(value, f"{self.where}, {name}")

    def wrong(self, name: str, wanted: str) -> LogFormatError:
        shown = repr(self.fields.get(name))
        shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "..."
        return LogFormatError(
            f"{self.where}: {name} is {shown}, not {wanted}",
            remedy="Give the result file as the tool wrote it.",
        )


def statistics(
    entry: Entry, metrics: Mapping[str, str], names: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """{"ttft_ms": {"mean": ...}} of fields such as mean_ttft_ms; metrics: theirs -> ours."""
    found: dict[str, dict[str, float]] = {}
    for theirs, ours in metrics.items():
        for name in names:
            value = entry.finite(f"{name}_{theirs}")
            if value is not None:
                found.setdefault(ours, {})[name] = value
    return found
