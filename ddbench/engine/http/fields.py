"""Read the fields of a JSON body one by one; what is wrong, or unknown, is refused by name."""

import math
from collections.abc import Mapping
from typing import Any

import orjson

from ddbench.errors import RequestRefused


class Fields:
    """A JSON object whose fields are taken out. null is the same as not given.

    `where` names the object in messages: "sampling_params.". Every method raises RequestRefused
    for a value of another kind.
    """

    def __init__(self, body: Any, *, where: str = "") -> None:
        if not isinstance(body, dict):
            raise RequestRefused(
                f"{where.rstrip('.') or 'the request'} must be a JSON object, got {_name(body)}",
                remedy="Send one.",
            )
        self._left: dict[str, Any] = {k: v for k, v in body.items() if v is not None}
        self._where = where

    def any(self, name: str) -> Any:
        return self._left.pop(name, None)

    def boolean(self, name: str, default: bool = False) -> bool:
        value = self._left.pop(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, value, "a boolean")
        return value

    def text(self, name: str) -> str | None:
        value = self._left.pop(name, None)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, value, "a string")
        return value

    def integer(self, name: str, *, least: int | None = None) -> int | None:
        value = self._left.pop(name, None)
        if value is None:
            return None
        if not is_integer(value) or (least is not None and value < least):
            wanted = "an integer" if least is None else f"an integer of at least {least}"
            raise self.wrong(name, value, wanted)
        return int(value)

    def number(self, name: str, default: float, *, least: float) -> float:
        value = self._left.pop(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, value, "a number")
        if not math.isfinite(value) or value < least:
            raise self.wrong(name, value, f"a finite number of at least {least}")
        return float(value)

    def only(self, allowed: Mapping[str, tuple[Any, ...]]) -> None:
        """Take fields that SGLang has and this server does not: they may only say "off"."""
        for name, neutral in allowed.items():
            value = self._left.pop(name, None)
            if value is not None and not any(_same(value, off) for off in neutral):
                raise RequestRefused(
                    f"{self._where}{name} is not supported by the embedded engine "
                    f"(got {_name(value)})",
                    remedy="Leave it out.",
                )

    def finish(self) -> None:
        """Refuse whatever has not been taken."""
        if self._left:
            raise RequestRefused(
                f"unknown field {self._where}{sorted(self._left)[0]}",
                remedy="Leave it out: the embedded engine ignores nothing silently.",
            )

    def wrong(self, name: str, value: Any, wanted: str) -> RequestRefused:
        return RequestRefused(
            f"{self._where}{name} must be {wanted}, got {_name(value)}", remedy="Correct it."
        )


def parse_json(body: bytes) -> Any:
    """Raises RequestRefused for what is not JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as cause:
        raise RequestRefused(
            f"the request body is not JSON: {cause}", remedy="Send a JSON object."
        ) from cause


def is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _same(value: Any, off: Any) -> bool:
    """Equal, and 1 is not True."""
    return isinstance(value, bool) == isinstance(off, bool) and bool(value == off)


def _name(value: Any) -> str:
    """A value for a message, never long and never a text that may be private."""
    if value is None or isinstance(value, bool | int | float):
        return orjson.dumps(value).decode()
    kinds = ((str, "a string"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "something else")
