"""Fields of SGLang's meta_info, or of an OpenAI usage, by name. Absent is None; of another kind is
an error.

A number that is not what it should be must not become a measurement.
"""

from collections.abc import Mapping
from typing import Any, Literal, overload

from ddbench.load.bad_answer import BadAnswer, shown


@overload
def count(
    meta: Mapping[str, Any], *spellings: str, required: Literal[True], where: str = "meta_info"
) -> int: ...
@overload
def count(meta: Mapping[str, Any], *spellings: str, where: str = "meta_info") -> int | None: ...
def count(
    meta: Mapping[str, Any], *spellings: str, required: bool = False, where: str = "meta_info"
) -> int | None:
    """The first of the spellings that is there, a whole number of at least 0.

    Raises:
        BadAnswer: it is something else, or it is required and absent.
    """
    for key in spellings:
        value = meta.get(key)
        if value is not None:
            return _whole(value, f"{where}.{key}")
    if required:
        raise BadAnswer(f"{where} lacks {spellings[0]}")
    return None


def counts(meta: Mapping[str, Any], *spellings: str) -> tuple[int, ...] | None:
    """The first of the spellings that is there, a list of whole numbers of at least 0."""
    for key in spellings:
        values = meta.get(key)
        if values is not None:
            return whole_numbers(listed(values, f"meta_info.{key}"), f"meta_info.{key}")
    return None


def finish_reason(meta: Mapping[str, Any]) -> tuple[str, str | None]:
    """SGLang's type ("stop", "length", "abort") and its message, if it has one.

    Raises:
        BadAnswer: the request is not finished.
    """
    reason = meta.get("finish_reason")
    if isinstance(reason, str):
        return reason, None
    if reason is None:
        raise BadAnswer("the stream ended without a finish_reason")
    if not isinstance(reason, dict) or not isinstance(reason.get("type"), str):
        raise BadAnswer(f"meta_info.finish_reason is {shown(repr(reason))}")
    message = reason.get("message")
    return reason["type"], None if message is None else str(message)


def whole_numbers(values: list[Any], name: str) -> tuple[int, ...]:
    """The values, if each is a whole number of at least 0; quick, since these are long lists."""
    if set(map(type, values)) != {int} or min(values) < 0:
        for value in values:
            _whole(value, name)
    return tuple(values)


def logprobs(entries: list[Any]) -> tuple[float, ...]:
    """The log-probability of each output token: the first of each (logprob, id, text)."""
    found: list[float] = []
    for entry in entries:
        value = entry[0] if isinstance(entry, list) and entry else entry
        if isinstance(value, bool) or not isinstance(value, int | float):
            name = f"meta_info.output_token_logprobs[{len(found)}]"
            raise BadAnswer(f"{name} is {shown(repr(value))}, not a number")
        found.append(float(value))
    return tuple(found)


def listed(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadAnswer(f"{name} is {shown(repr(value))}, not a list")
    return value


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadAnswer(f"{name} is {shown(repr(value))}, not a whole number")
    return value
