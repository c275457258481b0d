"""A whole log, from a file, gzip, zstd or standard input, as records. Memory stays constant.

Blocks of bytes are searched for the few strings that our lines contain, so a line of another kind
is never looked at by itself. One file may hold several servers and several starts of each: every
record says which. Where nothing on the lines tells two servers apart, the log is refused.
"""

import gzip
import io
import re
import sys
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Protocol, cast

import zstandard

from ddbench.errors import LogFormatError
from ddbench.logs.common_line import COMMON_DECODE_LINE, window_of
from ddbench.logs.line_records import NEEDLES, LogRecord, line_records
from ddbench.logs.servers import Servers
from ddbench.logs.wrapped_line import continues, may_continue
from ddbench.records import DecodeWindow

BLOCK_BYTES = 1 << 16
MAX_LINE_BYTES = 1 << 20  # a longer line is none of SGLang's and is skipped
MAX_WRAPS = 3  # physical lines over which people wrap one record
MAX_WRAPPED_BYTES = 1000
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_NOT_COMMON = (b"\x1b", b"\r", b"obj=", b" batch")  # before a window: its line needs a closer look
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
    if path is None:
        yield from read_stream(cast(io.BufferedReader, sys.stdin.buffer), "standard input")
        return
    try:
        with path.open("rb") as file:
            yield from read_stream(file, str(path))
    except OSError as cause:
        raise LogFormatError(
            f"cannot read {path}: {cause.strerror or cause}",
            remedy="Give a log file that you may read.",
        ) from cause


def read_stream(file: io.BufferedReader, name: str) -> Iterator[LoggedRecord]:
    """As `read_log`, from an open file; `name` is for the messages."""
    try:
        yield from _records(file, name)
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as cause:
        raise LogFormatError(
            f"{name} is cut off or damaged: {cause}",
            remedy="Get the file again; what was read before the damage is only a part of the log.",
        ) from cause


def _records(file: io.BufferedReader, name: str) -> Iterator[LoggedRecord]:
    servers = Servers(name)
    pieces = _Pieces(_decompressed(file), name)
    for text, end in pieces:
        windows, gaps = _common_windows(text, end)
        others, unfinished = _other_lines(text, gaps, may_go_on_at=None if pieces.at_end else end)
        settled = end if unfinished is None else unfinished
        line_number, counted = pieces.line_number, 0
        for start in sorted([*windows, *others]) if others else windows:
            if start >= settled:
                break
            line_number += text.count(b"\n", counted, start)
            counted = start
            if (common := windows.get(start)) is not None:
                before, window = common
                source, boot = servers.place_window(before)
                yield LoggedRecord(source, boot, line_number, window)
                continue
            for record in line_records(others[start]):
                source, boot = servers.place(record, others[start])
                yield LoggedRecord(source, boot, line_number, record)
        pieces.settle(settled)


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


class _Pieces:
    """A log in pieces of whole lines, without NUL bytes; overlong lines are left out.

    Iterating gives (text, end): the lines are text[:end]. What `settle` is not told of comes again,
    at the front of the next piece. `line_number` is that of the first line of the piece.
    """

    def __init__(self, stream: _Readable, name: str) -> None:
        self._stream = stream
        self._name = name
        self._text = b""
        self.line_number = 1
        self.at_end = False

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        skipping, is_empty = False, True
        while block := self._stream.read(BLOCK_BYTES):
            is_empty = False
            block = block.replace(b"\0", b"")
            if skipping:
                line_end = block.find(b"\n")
                if line_end < 0:
                    continue
                block, skipping = block[line_end:], False
            self._text += block
            yield self._text, self._text.rfind(b"\n") + 1
            if len(self._text) > MAX_LINE_BYTES:
                self._text, skipping = b"", True
        if is_empty:
            raise LogFormatError(
                f"{self._name} holds nothing", remedy="Give the log of a server that ran."
            )
        self.at_end = True
        yield self._text, len(self._text)

    def settle(self, size: int) -> None:
        """The first `size` bytes of the piece are done with; they end with a line end."""
        self.line_number += self._text.count(b"\n", 0, size)
        self._text = self._text[size:]


_Windows = dict[int, tuple[bytes, DecodeWindow]]
"""By offset of the line: what stands before SGLang's stamp, and the window."""

_Gap = tuple[int, int]
"""[begin, end) of whole lines."""


def _common_windows(text: bytes, end: int) -> tuple[_Windows, list[_Gap]]:
    """The windows that can be read in passing, and the gaps between their lines."""
    windows: _Windows = {}
    gaps: list[_Gap] = []
    settled = 0
    for match in COMMON_DECODE_LINE.finditer(text, 0, end):
        start = text.rfind(b"\n", settled, match.start()) + 1 or settled
        before = text[start : match.start()]
        if b"\x1b" in before:
            before = _COLOUR.sub(b"", before)
        if before and any(noise in before for noise in _NOT_COMMON):
            continue
        if (window := window_of(match)) is not None:
            windows[start] = (before, window)
            if start > settled:
                gaps.append((settled, start))
            settled = match.end()
    if settled < end:
        gaps.append((settled, end))
    return windows, gaps


def _other_lines(
    text: bytes, gaps: list[_Gap], *, may_go_on_at: int | None
) -> tuple[dict[int, str], int | None]:
    """By offset, the lines in the gaps that hold a needle; and the offset of an unfinished record.

    A record that ends at `may_go_on_at` and lacks its last fields may go on in the next piece.
    """
    lines: dict[int, str] = {}
    rest = b"".join([text[begin:end] for begin, end in gaps])
    begins = [0, *accumulate(end - begin for begin, end in gaps)]
    for start, end in _lines_with_needles(rest):
        gap = bisect_right(begins, start) - 1
        offset = gaps[gap][0] + start - begins[gap]
        line, is_finished = _unwrapped(rest, start, end)
        if not is_finished and gaps[-1][1] == may_go_on_at:
            return lines, offset
        lines[offset] = line
    return lines, None


def _unwrapped(text: bytes, start: int, end: int) -> tuple[str, bool]:
    """The line [start, end) with the lines that go on with it; False if the text ends before."""
    line = text[start:end].decode(errors="replace")
    if not may_continue(line):
        return line, True
    for _ in range(MAX_WRAPS - 1):
        if end + 1 >= len(text):
            return line, False
        next_end = text.find(b"\n", end + 1)
        next_end = len(text) if next_end < 0 else next_end
        following = text[end + 1 : min(next_end, end + 1 + MAX_WRAPPED_BYTES)]
        if not continues(following.decode(errors="replace")):
            break
        line = f"{line} {following.decode(errors='replace').strip()}"
        end = next_end
    return line, True


def _lines_with_needles(text: bytes) -> list[tuple[int, int]]:
    """[start, end) of every line that holds a needle, in order, each once."""
    lines: dict[int, int] = {}
    for needle in _NEEDLES:
        found = text.find(needle)
        while found >= 0:
            start = text.rfind(b"\n", 0, found) + 1
            end = text.find(b"\n", found)
            lines[start] = end = len(text) if end < 0 else end
            found = text.find(needle, end)
    return sorted(lines.items())
