"""Server-sent events, split from bytes. Knows nothing of sockets or clocks.

Source: WHATWG HTML, section 9.2.6, for the `data` field only.
"""

import re

from ddbench.load.bad_answer import BadAnswer

EVENT_LIMIT_BYTES = 64 * 1024 * 1024

# Atomic groups: else "\r\n" would read as two line ends.
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_LINE_END = re.compile(rb"\r\n|\n|\r")


class SseSplitter:
    """Feed it pieces as they arrive; it gives back the data of each event that became complete."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._searched = 0  # no event ends before this

    @property
    def unfinished(self) -> bytes:
        """What came after the last complete event."""
        return bytes(self._pending)

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of each complete event, in order; [DONE] is one of them.

        Raises:
            BadAnswer: an event grows beyond EVENT_LIMIT_BYTES.
        """
        # Nearly always a piece is whole events of a line each; nothing else is worth any haste.
        if not self._pending and piece.endswith(b"\n\n") and b"\r" not in piece:
            lines = piece[:-2].split(b"\n\n")
            if all(line.startswith(b"data: ") and b"\n" not in line for line in lines):
                return [line[6:] for line in lines]
        self._pending += piece
        events: list[bytes] = []
        start = 0
        while end := _BLANK_LINE.search(self._pending, max(start, self._searched)):
            data = _data_of(bytes(self._pending[start : end.start()]))
            if data is not None:
                events.append(data)
            start = end.end()
        del self._pending[:start]
        if len(self._pending) > EVENT_LIMIT_BYTES:
            raise BadAnswer(f"an event longer than {EVENT_LIMIT_BYTES} bytes")
        self._searched = max(0, len(self._pending) - 3)  # the longest blank line, less one
        return events


def _data_of(event: bytes) -> bytes | None:
    """The event's data lines, joined; None for a comment or an event without data."""
    lines = [
        line[5:].removeprefix(b" ") for line in _LINE_END.split(event) if line.startswith(b"data:")
    ]
    return b"\n".join(lines) if lines else None
