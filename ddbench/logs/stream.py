"""A whole log, from a file, gzip, zstd or standard input, as records. Memory stays constant.

Blocks of bytes are searched for the few strings that our lines contain, so a line of another kind
is never looked at by itself. One file may hold several servers and several starts of each: every
record says which. Where nothing on the lines tells two servers apart, the log is refused.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import zstandard

from ddbench.errors import LogFormatError
from ddbench.logs.line_records import NEEDLES, LogRecord, line_records
from ddbench.logs.servers import Servers
from ddbench.logs.wrapped_line import continues, may_continue

BLOCK_BYTES = 1 << 18
MAX_LINE_BYTES = 1 << 20  # a longer line is none of SGLang's and is skipped
MAX_WRAPS = 3  # physical lines over which people wrap one record
MAX_WRAPPED_BYTES = 1000
_NEEDLES = tuple(needle.encode() for needle in NEEDLES)


@dataclass(frozen=True, slots=True)
class LoggedRecord:
    """One thing that a log says.

    source: the container, actor or pod that the line names; "" where lines name none.
    boot: how many starts of this source the log had shown before, from 0.
    line_number: from 1, of the line on which the record begins.
    """

    source: str
    boot: int
    line_number: int
    record: LogRecord


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def read_log(path: Path | None) -> Iterator[LoggedRecord]:
    """Yield what a log says, in its order; None reads standard input.

    Lines of a known kind that cannot be read are yielded as UnreadableLine, at their place.

    Raises LogFormatError when the file cannot be read or holds nothing; when several servers are
    in it and cannot be told apart; and at the end of a compressed file that was cut off or is
    damaged, after everything before has been yielded.
    """
    name = "standard input" if path is None else str(path)
    try:
        if path is None:
            yield from _records(cast(io.BufferedReader, sys.stdin.buffer), name)
        else:
            with path.open("rb") as file:
                yield from _records(file, name)
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as cause:
        raise LogFormatError(
            f"{name} is cut off or damaged: {cause}",
            remedy="Get the file again; what was read before the damage is only a part of the log.",
        ) from cause
    except OSError as cause:
        raise LogFormatError(
            f"cannot read {name}: {cause.strerror or cause}",
            remedy="Give a log file that you may read.",
        ) from cause


def _records(file: io.BufferedReader, name: str) -> Iterator[LoggedRecord]:
    servers = Servers(name)
    for line_number, line in _our_lines(_decompressed(file), name):
        for record in line_records(line):
            source, boot = servers.place(record, line)
            yield LoggedRecord(source, boot, line_number, record)


def _decompressed(file: io.BufferedReader) -> _Readable:
    magic = file.peek(4)[:4]
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    return _ZstdFrames(file) if magic == b"\x28\xb5\x2f\xfd" else file


class _ZstdFrames:
    """Frames one after the other. The library's own reader takes a cut-off file for a whole one."""

    _PIECE_BYTES = 1024  # expands to 32 MiB at the very most

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._within_frame = False
        self._pending = b""

    def read(self, size: int, /) -> bytes:
        """The next piece, of any length that is not 0; b"" at the end. Raises EOFError if cut."""
        while not self._pending:
            piece = self._frame.unused_data or self._file.read(min(size, self._PIECE_BYTES))
            if not piece:
                if self._within_frame:
                    raise EOFError("the last zstd frame is not complete")
                return b""
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._pending = self._frame.decompress(piece)
            self._within_frame = not self._frame.eof
        text, self._pending = self._pending[:size], self._pending[size:]
        return text


def _our_lines(stream: _Readable, name: str) -> Iterator[tuple[int, str]]:
    """(line number, text) of the lines that may be ours, wrapped records put together again."""
    pending, first_line_number, skipping, is_empty = b"", 1, False, True
    while block := stream.read(BLOCK_BYTES):
        is_empty = False
        if b"\0" in block:
            block = block.replace(b"\0", b"")
        if skipping:  # the rest of an overlong line
            line_end = block.find(b"\n")
            if line_end < 0:
                continue
            block, skipping = block[line_end:], False
        pending += block
        used = yield from _lines_of(pending, first_line_number, at_end=False)
        first_line_number += pending.count(b"\n", 0, used)
        pending = pending[used:]
        if len(pending) > MAX_LINE_BYTES:
            pending, skipping = b"", True
    if is_empty:
        raise LogFormatError(f"{name} holds nothing", remedy="Give the log of a server that ran.")
    yield from _lines_of(pending, first_line_number, at_end=True)


def _lines_of(
    text: bytes, line_number: int, *, at_end: bool
) -> Generator[tuple[int, str], None, int]:
    """The lines of a piece of log that may be ours. Returns how many bytes are done with."""
    complete = len(text) if at_end else text.rfind(b"\n") + 1
    counted_to = 0
    for start, end in _candidate_lines(text, complete):
        line_number += text.count(b"\n", counted_to, start)
        counted_to = start
        line = text[start:end].decode(errors="replace")
        if may_continue(line):
            for _ in range(MAX_WRAPS - 1):
                if end + 1 >= complete and not at_end:
                    return start  # the rest comes with the next block
                next_end = text.find(b"\n", end + 1, complete)
                next_end = complete if next_end < 0 else next_end
                following = text[end + 1 : min(next_end, end + 1 + MAX_WRAPPED_BYTES)]
                if not continues(following.decode(errors="replace")):
                    break
                line = f"{line} {following.decode(errors='replace').strip()}"
                end = next_end
        yield line_number, line
    return complete


def _candidate_lines(text: bytes, complete: int) -> list[tuple[int, int]]:
    """[start, end) of every complete line that holds a needle, in order, each once."""
    lines: dict[int, int] = {}
    for needle in _NEEDLES:
        found = text.find(needle, 0, complete)
        while found >= 0:
            start = text.rfind(b"\n", 0, found) + 1
            end = text.find(b"\n", found, complete)
            end = complete if end < 0 else end
            lines[start] = end
            found = text.find(needle, end, complete)
    return sorted(lines.items())
