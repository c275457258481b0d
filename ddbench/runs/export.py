"""The raw facts of a run as text, for other programs."""

import csv
from typing import TextIO

import orjson

from ddbench.runs.export_rows import COLUMNS, Value, rows_of
from ddbench.runs.store import RunStore


def export_jsonl(store: RunStore, stream: TextIO) -> int:
    """Write one JSON object a request, failed requests and trials too; returns how many.

    Every line has every field; null is "not measured". Infinities, which JSON has not, are null.
    """
    lines = 0
    for row in rows_of(store):
        stream.write(orjson.dumps(row).decode() + "\n")
        lines += 1
    return lines


def export_csv(store: RunStore, stream: TextIO) -> int:
    """Write one line a request below a line of names; returns how many requests.

    An empty field is "not measured"; a list is a JSON array in its field. Open the stream with
    newline="".
    """
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    lines = 0
    for row in rows_of(store):
        writer.writerow([_cell(value) for value in row.values()])
        lines += 1
    return lines


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple | bool):
        return orjson.dumps(value).decode()
    return str(value)
