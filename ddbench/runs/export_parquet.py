"""The rows of a run as a Parquet file: typed columns, lists as lists, null for "not measured"."""

from itertools import islice
from typing import Any, BinaryIO

from ddbench.errors import SetupError
from ddbench.runs.export_rows import COLUMNS, Kind, rows_of
from ddbench.runs.store import RunStore

ROWS_A_GROUP = 10_000


def export_parquet(store: RunStore, stream: BinaryIO) -> int:
    """Write one row a request, as export_jsonl does; returns how many.

    Raises SetupError where pyarrow is not installed.
    """
    pyarrow, parquet = _pyarrow()
    schema = pyarrow.schema([(name, _type(pyarrow, kind)) for name, kind in COLUMNS.items()])
    written, rows = 0, rows_of(store)
    with parquet.ParquetWriter(stream, schema) as writer:
        while group := list(islice(rows, ROWS_A_GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))
            written += len(group)
    return written


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as cause:
        raise SetupError(
            f"Parquet needs pyarrow, which cannot be imported: {cause}",
            remedy="Install it with `pip install 'ddbench[parquet]'`, or export as csv or jsonl.",
        ) from cause
    return pyarrow, parquet


def _type(pyarrow: Any, kind: Kind) -> Any:
    plain = {
        "text": pyarrow.string(),
        "whole": pyarrow.int64(),
        "number": pyarrow.float64(),
        "flag": pyarrow.bool_(),
    }
    if kind in plain:
        return plain[kind]
    return pyarrow.list_(pyarrow.int64() if kind == "wholes" else pyarrow.float64())
