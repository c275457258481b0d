"""The usual case of a stream, made quick: what leaves the socket is one chunk with one event.

Anything else is left to http_body and sse, which know all that the standards allow.
"""

from collections.abc import Sequence


def single_events(pieces: Sequence[bytes]) -> list[bytes]:
    """The data of the first pieces, as far as each is a whole chunk that holds one event of a line.

    pieces: what was read from a connection, beginning where a chunk begins.
    """
    events: list[bytes] = []
    for piece in pieces:
        line = piece.find(b"\r\n")
        end = len(piece) - 4
        if (
            piece.find(b"\n", line + 2) != end
            or not piece.endswith(b"\n\n\r\n")
            or not piece.startswith(b"data: ", line + 2)
            or _size(piece[:line]) != end - line
        ):
            break
        events.append(piece[line + 8 : end])
    return events


def _size(digits: bytes) -> int:
    """A chunk's size; -1 when extensions stand beside it, or when it is no number."""
    try:
        return int(digits, 16)
    except ValueError:
        return -1
