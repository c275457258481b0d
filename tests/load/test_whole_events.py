"""The quick way to read a stream against the one that follows the standards."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddbench.load.http_body import ChunkedBody
from ddbench.load.sse import SseSplitter
from ddbench.load.whole_events import whole_events

EVENT = b'data: {"text": "a"}\n\n'


def chunk(payload: bytes, size: bytes | None = None) -> bytes:
    return (b"%x" % len(payload) if size is None else size) + b"\r\n" + payload + b"\r\n"


def slowly(stamps: list[float], pieces: list[bytes]) -> list[tuple[float, bytes]]:
    """Every event with the stamp of the piece in which it ended."""
    body, splitter = ChunkedBody(), SseSplitter()
    return [
        (at, event)
        for at, piece in zip(stamps, pieces, strict=True)
        for payload in body.feed(piece)
        for event in splitter.feed(payload)
    ]


lines = st.binary(max_size=40).map(lambda raw: raw.replace(b"\r", b"r").replace(b"\n", b"n"))
chunks = st.one_of(
    lines.map(lambda line: chunk(b"data: " + line + b"\n\n")),
    st.sampled_from(
        [
            chunk(EVENT + EVENT),
            chunk(b": comment\n\n"),
            chunk(b"data: a\ndata: b\n\n"),
            chunk(b"data:no space\n\n"),
            chunk(b"data: crlf\r\n\r\n"),
            chunk(EVENT, b"15;why=not"),
            chunk(EVENT, b"0015"),
        ]
    ),
)


@given(st.lists(chunks, max_size=12), st.lists(st.integers(0, 60), max_size=6))
def test_what_is_read_quickly_is_what_the_standards_say(
    wire_chunks: list[bytes], cuts: list[int]
) -> None:
    """Chunks of any kind, joined and cut anywhere."""
    wire = b"".join(wire_chunks)
    ends = sorted({0, len(wire), *(min(cut, len(wire)) for cut in accumulate(cuts))})
    pieces = [wire[a:b] for a, b in pairwise(ends)]
    stamps = [float(n) for n in range(len(pieces))]

    taken, event_stamps, events = whole_events(stamps, pieces)

    expected = slowly(stamps[:taken], pieces[:taken])
    assert list(zip(event_stamps, events, strict=True)) == expected


def test_the_usual_case_is_read_quickly() -> None:
    pieces = [chunk(EVENT), chunk(EVENT) * 3, chunk(EVENT)]

    taken, stamps, events = whole_events([1.0, 2.0, 3.0], pieces)

    assert taken == 3
    assert stamps == [1.0, 2.0, 2.0, 2.0, 3.0]
    assert events == [b'{"text": "a"}'] * 5


@pytest.mark.parametrize(
    "odd",
    [
        chunk(EVENT)[:-1],
        chunk(EVENT) + b"1",
        chunk(EVENT, b"14"),
        chunk(EVENT, b"16"),
        chunk(EVENT, b"-15"),
        chunk(EVENT, b"15;why=not"),
        chunk(EVENT, b""),
        b"0\r\n\r\n",
        b"\r\n",
    ],
)
def test_what_is_odd_is_left_to_the_slow_way(odd: bytes) -> None:
    pieces = [chunk(EVENT), odd, chunk(EVENT)]

    taken, _, events = whole_events([1.0, 2.0, 3.0], pieces)

    assert taken == 1
    assert len(events) == 1
