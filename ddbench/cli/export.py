"""ddbench export RUN --format ..."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from ddbench.errors import RunError

if TYPE_CHECKING:
    from ddbench.runs.store import RunStore


class Format(StrEnum):
    jsonl = "jsonl"
    csv = "csv"
    parquet = "parquet"
    sglang = "sglang"
    vllm = "vllm"


def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    format: Annotated[
        Format,
        typer.Option(
            help="jsonl, csv, parquet: a line or row a request. sglang, vllm: a JSON line a trial, "
            "with the keys of bench_serving and of vllm bench serve."
        ),
    ] = Format.jsonl,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new file; for vllm a folder, for one file a trial. Default: stdout.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the raw facts of a run for other programs."""
    from ddbench.runs.store import RunStore

    with RunStore.open(run) as store:
        written = _written(store, format, out)
        trials = len(store.keys())
        if format in (Format.sglang, Format.vllm) and written < trials:
            left_out = f"{trials - written} of {trials} trials"
            typer.echo(f"left out: {left_out} (failed, unanswered or probes)", err=True)


def _written(store: RunStore, format: Format, out: Path | None) -> int:
    from ddbench.runs.export import export_csv, export_jsonl
    from ddbench.runs.export_parquet import export_parquet
    from ddbench.runs.export_sglang import export_sglang
    from ddbench.runs.export_vllm import export_vllm, export_vllm_files

    if format is Format.vllm and out is not None:
        return export_vllm_files(store, out)
    with _sink(out) as stream:
        if format is Format.parquet:
            _refuse_terminal(stream)
            return export_parquet(store, stream)
        write = {
            Format.jsonl: export_jsonl,
            Format.csv: export_csv,
            Format.sglang: export_sglang,
            Format.vllm: export_vllm,
        }[format]
        text = TextIOWrapper(stream, encoding="utf-8", newline="")
        written = write(store, text)
        text.detach()  # flushes, and leaves the stream to its owner
        return written


@contextmanager
def _sink(out: Path | None) -> Iterator[BinaryIO]:
    """stdout, or a new file; one that could not be written whole is removed."""
    if out is None:
        yield sys.stdout.buffer
        return
    try:
        file = out.open("xb")
    except OSError as cause:
        raise _cannot_write(out, cause) from cause
    try:
        with file:
            yield file
    except OSError as cause:
        out.unlink()
        raise _cannot_write(out, cause) from cause
    except BaseException:
        out.unlink()
        raise


def _cannot_write(out: Path, cause: OSError) -> RunError:
    return RunError(
        f"cannot write {out}: {cause.strerror or cause}",
        remedy="Name a file with --out that does not exist yet, on a disk with space.",
    )


def _refuse_terminal(stream: BinaryIO) -> None:
    if stream.isatty():
        raise RunError(
            "a Parquet file is not for a terminal",
            remedy="Name a file with --out, or send stdout into one.",
        )
