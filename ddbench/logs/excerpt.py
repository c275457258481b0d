"""The part of a server's log that was written between two moments, by byte offset.

Offsets, because stamps have whole seconds and the server may be on another clock.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ddbench.errors import LogFormatError
from ddbench.logs.decode_line import parse_decode_line
from ddbench.logs.line_text import visible_text
from ddbench.logs.prefill_line import parse_prefill_line
from ddbench.logs.startup_line import parse_startup_line
from ddbench.records import DecodeWindow, LogExcerpt, PrefillWindow, StartupFact

MAX_LINE_BYTES = 1 << 20  # a longer line is none of SGLang's; its rest is skipped
_LOOK_BACK_BYTES = 1 << 16


def read_excerpt(
    path: Path, start: int, end: int | None, *, steady: tuple[int, int] | None = None
) -> LogExcerpt:
    """Read what the server logged between two byte offsets; None is the present end.

    A line belongs to the excerpt in which its line end stands, so cutting a log at any offsets
    gives every finished line to exactly one excerpt. An unfinished last line belongs to none yet.
    Bytes that are not UTF-8 are replaced. Lines of a known kind with a field that cannot be read
    are kept in `unreadable`, so that one torn line does not cost a trial.
    steady: the offsets between which the log was written while the load was steady.

    Raises LogFormatError when the file is not there, or shorter than the offsets say: it was
    truncated or rotated, and what stands there now is not what was logged then.
    """
    decode: list[DecodeWindow] = []
    first, last = 0, 0  # of `decode`: before `steady` begins, and before it ends
    prefill: list[PrefillWindow] = []
    startup: list[StartupFact] = []
    unreadable: list[str] = []
    try:
        with path.open("rb") as log:
            for raw_line, line_end in _finished_lines(log, path, start, end):
                line = raw_line.decode(errors="replace")
                try:
                    if (decoded := parse_decode_line(line)) is not None:
                        decode.append(decoded)
                        if steady is not None:
                            first += line_end <= steady[0]
                            last += line_end <= steady[1]
                    elif (prefilled := parse_prefill_line(line)) is not None:
                        prefill.append(prefilled)
                    elif (fact := parse_startup_line(line)) is not None:
                        startup.append(fact)
                except LogFormatError:
                    unreadable.append(visible_text(line).strip())
    except OSError as cause:
        raise LogFormatError(
            f"cannot read the server's log {path}: {cause.strerror}",
            remedy="Keep the log in place until the sweep is over.",
        ) from cause
    return LogExcerpt(
        decode=tuple(decode),
        prefill=tuple(prefill),
        startup=tuple(startup),
        unreadable=tuple(unreadable),
        steady_decode=None if steady is None else (first, last),
    )


def _finished_lines(
    log: BinaryIO, path: Path, start: int, end: int | None
) -> Iterator[tuple[bytes, int]]:
    """Each line, and the offset at which it ends."""
    size = os.fstat(log.fileno()).st_size
    if not 0 <= start <= (size if end is None else end) <= size:
        raise _shorter_than_asked(path, size, start, end)
    stop = size if end is None else end
    position = _start_of_line(log, start)
    log.seek(position)
    is_overlong = False
    while position < stop:
        line = log.readline(min(MAX_LINE_BYTES, stop - position))
        if not line:  # truncated while we read
            raise _shorter_than_asked(path, position, start, end)
        position += len(line)
        is_finished = line.endswith(b"\n")
        if is_finished and not is_overlong:
            yield line, position
        is_overlong = not is_finished


def _shorter_than_asked(path: Path, size: int, start: int, end: int | None) -> LogFormatError:
    return LogFormatError(
        f"{path} has {size} bytes, but bytes {start} to {'the end' if end is None else end} were "
        "asked for: it was truncated or rotated",
        remedy="Let nothing rotate or truncate the log while the sweep runs.",
    )


def _start_of_line(log: BinaryIO, offset: int) -> int:
    """Where the line that holds `offset` begins; not further back than the longest line."""
    position = offset
    while position > 0 and offset - position < MAX_LINE_BYTES:
        begin = max(0, position - _LOOK_BACK_BYTES)
        log.seek(begin)
        block = log.read(position - begin)
        if (newline := block.rfind(b"\n")) >= 0:
            return begin + newline + 1
        position = begin
    return position
