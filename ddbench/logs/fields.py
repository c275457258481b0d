"""`key: value` fields of a log line, in any order and with any separator that people use.

SGLang separates by `, ` and writes `key: value`; private patches write `key=value` and spaces;
people trim, reorder, and paste arrows and ranges. A field is found by its name alone.
"""

import re
from collections.abc import Callable

from ddbench.errors import LogFormatError

_BETWEEN = r"(?:~|→|->|\u2013|\u2014)"  # `118~225`, `2.10 → 3.40`: two values, so none
# Keys are runs between separators. A run that is no key is consumed all the same (last branch):
# a line of a megabyte must not be looked at from each of its characters anew.
_FIELD = re.compile(
    rf"([^:=,;|→]++)[:=]>?\s*+([^\s,;|]*+(?:\s*+{_BETWEEN}\s*+[^\s,;|]++)?)|[^:=,;|→]++"
)
_MARKUP = "*`'\"()[]{}"
_INTEGER = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_RANGE = re.compile(rf"-?[0-9.]+\s*(?:{_BETWEEN}|-)\s*-?[0-9.]+")
_NO_VALUE = frozenset({"", "-", "?", "nan", "inf", "-inf", "none", "n/a", "…"})


def read_fields(text: str, field_of: Callable[[str], str | None], line: str) -> dict[str, str]:
    """The raw values of the fields that `field_of` knows by their key; others are ignored.

    Raises LogFormatError, quoting `line`, when one field stands there with two values.
    """
    values: dict[str, str] = {}
    for key, value in _FIELD.findall(text):
        field = field_of(key)
        if field is not None and values.setdefault(field, value) != value:
            raise unreadable(f"two values for {key.strip()!r}", line)
    return values


def integer(values: dict[str, str], field: str, line: str) -> int | None:
    """A count; None when the field is missing or holds no value. Raises LogFormatError."""
    if (value := values.get(field)) is None:
        return None
    if _INTEGER.fullmatch(value):
        return int(value)
    if has_no_value(value):
        return None
    if _INTEGER.fullmatch(bare := _bare(value)):
        return int(bare)
    raise unreadable(f"{field}: {value}", line)


def number(values: dict[str, str], field: str, line: str, *, ranges: bool = False) -> float | None:
    """A decimal; None when the field is missing or holds no value. Raises LogFormatError.

    With `ranges`, two values with a tilde or an arrow between them are no value rather than an
    error: that is how people sum up several lines.
    """
    if (value := values.get(field)) is None:
        return None
    if _NUMBER.fullmatch(value):
        return float(value)
    if has_no_value(value) or (ranges and _RANGE.fullmatch(value)):
        return None
    if _NUMBER.fullmatch(bare := _bare(value)):
        return float(bare)
    raise unreadable(f"{field}: {value}", line)


def flag(values: dict[str, str], field: str, line: str) -> bool | None:
    """True or False as Python prints them; None when missing. Raises LogFormatError."""
    value = values.get(field)
    if value in ("True", "False"):
        return value == "True"
    if value is None or has_no_value(value):
        return None
    if (bare := _bare(value)) in ("True", "False"):
        return bare == "True"
    raise unreadable(f"{field}: {value}", line)


def has_no_value(value: str) -> bool:
    """Whether a field says by itself that it has no value: `nan%`, `-`, `…`, `3.4…`."""
    return (
        value.strip(_MARKUP).rstrip("%").lower() in _NO_VALUE
        or "…" in value
        or value.endswith("..")
    )


def unreadable(what: str, line: str) -> LogFormatError:
    quoted = line if len(line) <= 2000 else f"{line[:2000]} ..."
    return LogFormatError(
        f"unreadable log line ({what}): {quoted}",
        remedy="Report the line; if somebody edited it, restore what the server wrote.",
    )


def _bare(value: str) -> str:
    """The value without Markdown, quotes, a full stop, a unit, or the line end of a JSON string."""
    value = value.strip(_MARKUP).removesuffix("\\n")
    return value.strip(_MARKUP).removesuffix("token/s").removesuffix("tok/s").rstrip(".")
