"""The usual case of a stream, made quick: what leaves the socket is whole chunks, each one event.

Anything else is left to http_body and sse, which know all that the standards allow. Here a size may
also be what int() takes beyond hexadecimal digits (a sign, `0x`): no server writes that.
"""

from collections.abc import Sequence


def whole_events(
    stamps: Sequence[float], pieces: Sequence[bytes]
) -> tuple[int, list[float], list[bytes]]:
    """The events of the first pieces, as far as each holds only chunks of one event of one line.

    stamps: when each piece was read from its connection; the first begins where a chunk begins.
    Returns how many pieces that are, and a stamp and the data of each event.
    """
    taken = 0
    event_stamps: list[float] = []
    events: list[bytes] = []
    try:
        for at, piece in zip(stamps, pieces, strict=True):
            line = piece.find(b"\r\n")
            end = line + int(piece[:line], 16)
            if (
                end + 4 == len(piece)
                and piece.find(b"\n", line + 2) == end
                and piece.endswith(b"\n\n\r\n")
                and piece.startswith(b"data: ", line + 2)
            ):
                events.append(piece[line + 8 : end])
                event_stamps.append(at)
            else:
                several = _several(piece)
                if not several:
                    break
                events += several
                event_stamps += [at] * len(several)
            taken += 1
    except ValueError:  # an extension beside the size, or no size at all
        pass
    return taken, event_stamps, events


def _several(piece: bytes) -> list[bytes]:
    """The events of a piece that holds more than one; none when anything is unusual.

    Raises ValueError for a size that is no number.
    """
    events: list[bytes] = []
    start = 0
    while start < len(piece):
        line = piece.find(b"\r\n", start)
        end = line + int(piece[start:line], 16)
        if (
            piece.find(b"\n", line + 2) != end
            or piece[end : end + 4] != b"\n\n\r\n"
            or not piece.startswith(b"data: ", line + 2)
        ):
            return []
        events.append(piece[line + 8 : end])
        start = end + 4
    return events
