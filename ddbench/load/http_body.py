"""HTTP/1.1 bodies: bytes off the wire in, payload out. Knows nothing of sockets or clocks.

A piece of payload may end anywhere, in the middle of a character too. A decoder says by
`finished` that the body is complete; what the wire holds after it is `surplus`.

Source: RFC 9112, section 7.1.
"""

import re
from typing import Protocol

from ddbench.load.bad_answer import BadAnswer, shown
from ddbench.load.http_head import ResponseHead

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_SIZE_LINE_LIMIT_BYTES = 4096
_TRAILER_LIMIT_BYTES = 64 * 1024


class Body(Protocol):
    finished: bool
    surplus: bytes

    def feed(self, data: bytes) -> list[bytes]: ...

    def ends_with_connection(self) -> bool:
        """True when the end of the connection is the end of the body."""
        ...


def body_of(head: ResponseHead) -> Body:
    if head.chunked:
        return ChunkedBody()
    if head.content_length is not None:
        return SizedBody(head.content_length)
    return BodyUntilClose()


class ChunkedBody:
    """Chunks of an announced size. One event of a stream usually comes as one chunk."""

    def __init__(self) -> None:
        self.finished = False
        self.surplus = b""
        self.midway = False  # anything but the start of a size line comes next
        self._unread = b""  # of a size line, a line end or a trailer that is not complete
        self._left = 0  # bytes of the current chunk still to come
        self._closing = False  # the chunk's bytes are in, its line end is not
        self._in_trailer = False

    def ends_with_connection(self) -> bool:
        return False

    def feed(self, data: bytes) -> list[bytes]:
        """The payload in `data`.

        Raises:
            BadAnswer: the framing is broken.
        """
        pieces = self._feed(data)
        self.midway = bool(self._left or self._unread or self._closing or self._in_trailer)
        return pieces

    def _feed(self, data: bytes) -> list[bytes]:
        if self._unread:
            data = self._unread + data
            self._unread = b""
        pieces: list[bytes] = []
        at, size = 0, len(data)
        while at < size:
            if self._left:
                end = at + self._left
                pieces.append(data[at:end])
                if end > size:
                    self._left = end - size
                    return pieces
                self._left, self._closing, at = 0, True, end
            elif self._closing:
                if data[at : at + 2] == b"\r\n":
                    self._closing, at = False, at + 2
                elif data[at:] == b"\r":
                    break
                else:
                    raise BadAnswer(f"a chunk does not end where it should: {_near(data, at)}")
            elif self._in_trailer:
                self._read_trailer(data[at:])
                return pieces
            else:
                line = _SIZE_LINE.match(data, at)
                if line is None:
                    if b"\n" in data[at:] or size - at > _SIZE_LINE_LIMIT_BYTES:
                        raise BadAnswer(f"a chunk without a size: {_near(data, at)}")
                    break
                self._left, at = int(line[1], 16), line.end()
                self._in_trailer = self._left == 0
        self._unread = data[at:]
        return pieces

    def _read_trailer(self, data: bytes) -> None:
        """After the last chunk: header lines that nobody needs, and a blank line."""
        if data.startswith(b"\r\n"):
            self.finished, self.surplus = True, data[2:]
        elif (end := data.find(b"\r\n\r\n")) >= 0:
            self.finished, self.surplus = True, data[end + 4 :]
        elif len(data) > _TRAILER_LIMIT_BYTES:
            raise BadAnswer(f"a trailer longer than {_TRAILER_LIMIT_BYTES} bytes")
        else:
            self._unread = data


class SizedBody:
    """As many bytes as the head announced."""

    def __init__(self, length: int) -> None:
        self.finished = length == 0
        self.surplus = b""
        self._left = length

    def ends_with_connection(self) -> bool:
        return False

    def feed(self, data: bytes) -> list[bytes]:
        payload, self.surplus = data[: self._left], data[self._left :]
        self._left -= len(payload)
        self.finished = self._left == 0
        return [payload] if payload else []


class BodyUntilClose:
    """No size at all: the server closes the connection."""

    def __init__(self) -> None:
        self.finished = False
        self.surplus = b""

    def ends_with_connection(self) -> bool:
        return True

    def feed(self, data: bytes) -> list[bytes]:
        return [data]


def _near(data: bytes, at: int) -> str:
    return repr(shown(data[at : at + 40]))
