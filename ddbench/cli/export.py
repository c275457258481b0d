"""ddbench export RUN --format ..."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    jsonl = "jsonl"


def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    format: Annotated[Format, typer.Option(help="jsonl: one line a request.")] = Format.jsonl,
) -> None:
    """Write the raw facts of a run to stdout, for other programs."""
    import sys

    from ddbench.runs.export import export_jsonl
    from ddbench.runs.store import RunStore

    write = {Format.jsonl: export_jsonl}[format]
    with RunStore.open(run) as store:
        write(store, sys.stdout)
