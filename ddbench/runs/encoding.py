"""Between the records and what SQLite stores: rows and small JSON documents.

Driven by the records' own type hints, so that the mapping cannot forget a field. A name that the
stored form lacks takes the record's default: runs of before the field existed stay readable.
Floats in arrays are little-endian doubles, since JSON is three times as long; integers in arrays
are JSON, which SQLite's own json_each can read.
"""

import json
import sys
import types
from array import array
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ddbench.errors import RunError

Record = TypeVar("Record")
Column = str | int | float | bytes | None
Decoder = Callable[[Any], Any]


def to_json(value: object) -> str:
    """A record, or a tuple or mapping of them, as compact ASCII JSON."""
    return json.dumps(_plain(value), separators=(",", ":"))


def from_json(kind: type[Record], text: str) -> Record:
    """The inverse of to_json. Raises RunError where `text` does not fit `kind`."""
    try:
        data = json.loads(text)
    except ValueError as cause:
        raise _damaged(f"{text[:60]!r} is not JSON") from cause
    hint: Any = kind
    decoded: Record = _json_decoder(hint)(data)
    return decoded


def to_row(record: object) -> dict[str, Column]:
    """One column a field; `record` is a dataclass of scalars and tuples of scalars."""
    kind: Any = type(record)
    return {name: _column(getattr(record, name), hint) for name, hint in _hints(kind).items()}


def from_row(kind: type[Record], row: Mapping[str, Column]) -> Record:
    """The inverse of to_row; other columns of `row` are ignored."""
    record: Record = _build(kind, row, _column_decoder)
    return record


def storable(text: str) -> str:
    """`text` with unpaired surrogates spelt out: SQLite takes valid Unicode only."""
    return text.encode("utf-8", "backslashreplace").decode()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    return {field.name: field.default for field in fields(kind) if field.default is not MISSING}


def _build(kind: Any, data: Mapping[str, Any], decoder: Callable[[Any], Decoder]) -> Any:
    hints = _hints(kind)
    values = {name: decoder(hint)(data[name]) for name, hint in hints.items() if name in data}
    if missing := hints.keys() - values.keys() - _defaults(kind).keys():
        raise _damaged(f"a stored {kind.__name__} lacks {', '.join(sorted(missing))}")
    return kind(**values)


# ---------------------------------------------------------------- JSON


@cache
def _json_decoder(hint: Any) -> Decoder:
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda data: _build(hint, _of(dict, data), _json_decoder)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _tuple_decoder(arguments)
    if origin in (Union, types.UnionType):
        return _union_decoder(arguments)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        item = _json_decoder(arguments[1])
        return lambda data: {key: item(value) for key, value in _of(dict, data).items()}
    if origin is Literal:
        return lambda data: data if data in arguments else _refuse(data, hint)
    if hint is float:
        return lambda data: float(data) if type(data) in (int, float) else _refuse(data, hint)
    return lambda data: data if type(data) is hint else _refuse(data, hint)


def _tuple_decoder(arguments: tuple[Any, ...]) -> Decoder:
    if arguments[-1] is Ellipsis:
        item = _json_decoder(arguments[0])
        return lambda data: tuple(item(value) for value in _of(list, data))
    items = [_json_decoder(argument) for argument in arguments]

    def decode(data: Any) -> tuple[Any, ...]:
        if len(_of(list, data)) != len(items):
            raise _damaged(f"{data!r} has not {len(items)} items")
        return tuple(item(value) for item, value in zip(items, data, strict=True))

    return decode


def _union_decoder(arguments: tuple[Any, ...]) -> Decoder:
    """Scalars are told apart by their exact type, so that 1, 1.0 and true stay what they were."""
    scalars = {argument for argument in arguments if argument in (str, int, float, bool)}
    others = [a for a in arguments if a not in scalars and a is not types.NoneType]
    optional = types.NoneType in arguments
    (other,) = others or [None]
    decode = _json_decoder(other) if other is not None else None

    def decode_union(data: Any) -> Any:
        if type(data) in scalars or (data is None and optional):
            return data
        if type(data) is int and float in scalars:
            return float(data)
        return decode(data) if decode is not None else _refuse(data, arguments)

    return decode_union


# ---------------------------------------------------------------- rows


def _column(value: Any, hint: Any) -> Column:
    if isinstance(value, tuple):
        return _doubles(value) if _holds_floats(hint) else to_json(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return storable(value)
    plain: Column = value
    return plain


@cache
def _column_decoder(hint: Any) -> Decoder:
    required = _without_none(hint)
    decode: Decoder
    if _holds_floats(hint):
        decode = _from_doubles
    elif get_origin(required) is tuple:
        decode = lambda value: from_json(required, _of(str, value))  # noqa: E731
    elif required is datetime:
        decode = lambda value: datetime.fromisoformat(_of(str, value))  # noqa: E731
    elif required is bool:
        decode = lambda value: bool(_of(int, value))  # noqa: E731
    else:
        decode = _json_decoder(required)
    if required is hint:
        return decode
    return lambda value: None if value is None else decode(value)


def _without_none(hint: Any) -> Any:
    """The one type of `X | None`, or the hint itself."""
    kinds = [kind for kind in get_args(hint) if kind is not types.NoneType]
    return kinds[0] if types.NoneType in get_args(hint) and len(kinds) == 1 else hint


def _holds_floats(hint: Any) -> bool:
    return bool(_without_none(hint) == tuple[float, ...])


def _doubles(values: tuple[float, ...]) -> bytes:
    packed = array("d", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _from_doubles(blob: Any) -> tuple[float, ...]:
    packed = array("d")
    if len(_of(bytes, blob)) % packed.itemsize:
        raise _damaged(f"{len(blob)} bytes are not whole doubles")
    packed.frombytes(blob)
    if sys.byteorder == "big":
        packed.byteswap()
    return tuple(packed)


# ---------------------------------------------------------------- damage


def _of(kind: type, data: Any) -> Any:
    return data if type(data) is kind else _refuse(data, kind)


def _refuse(data: Any, hint: Any) -> Any:
    raise _damaged(f"{str(data)[:60]!r} is not {hint}")


def _damaged(what: str) -> RunError:
    return RunError(
        f"the run's database holds something that ddbench did not write: {what}",
        remedy="Restore the run from a copy; ddbench never edits what it stored.",
    )
