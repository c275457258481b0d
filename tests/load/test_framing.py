"""Bytes may be cut anywhere: the decoders must not notice. Oracles share no code with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddbench.load.bad_answer import BadAnswer
from ddbench.load.http_body import ChunkedBody, SizedBody
from ddbench.load.http_head import Target, parse_head, post_bytes, read_target
from ddbench.load.sse import SseSplitter

payloads = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from([b"\r\n", b"0\r\n\r\n", b"data: {}\n\n", b"5\r\n", "世🌍".encode()]),
    ),
    max_size=8,
)


@st.composite
def cut(draw: st.DrawFn, wire: bytes) -> list[bytes]:
    """The wire in pieces, none of them empty."""
    marks = sorted(draw(st.sets(st.integers(1, max(1, len(wire) - 1)), max_size=12)))
    return [p for p in map(wire.__getitem__, map(slice, [0, *marks], [*marks, None])) if p]


@given(st.data(), payloads, st.sampled_from([b"", b"x-sum: 7\r\n", b"a: b\r\nc: d\r\n"]))
def test_chunks_are_put_together_however_they_are_cut(
    data: st.DataObject, chunks: list[bytes], trailer: bytes
) -> None:
    chunks = [chunk for chunk in chunks if chunk]
    wire = b"".join(b"%X\r\n" % len(chunk) + chunk + b"\r\n" for chunk in chunks)
    wire += b"0\r\n" + trailer + b"\r\n"
    body = ChunkedBody()

    got = b""
    for piece in data.draw(cut(wire)):
        assert not body.finished
        got += b"".join(body.feed(piece))

    assert got == b"".join(chunks)
    assert body.finished
    assert body.surplus == b""


def test_a_chunk_that_comes_whole_is_one_piece() -> None:
    body = ChunkedBody()

    assert body.feed(b"5\r\nhello\r\n") == [b"hello"]
    assert body.feed(b"5\r\nhello\r\n6\r\n world\r\n") == [b"hello", b" world"]
    assert not body.finished


@pytest.mark.parametrize(
    "wire",
    [
        b"zz\r\n",
        b"-5\r\nhello\r\n",
        b"5_0\r\n",
        b"\r\nhello",
        b"5\nhello\n",
        b"2\r\nhello\r\n",
        b"f" * 5000,
        b"0\r\n" + b"x: y\r\n" * 20_000,
    ],
)
def test_broken_chunks_are_refused(wire: bytes) -> None:
    with pytest.raises(BadAnswer):
        ChunkedBody().feed(wire)


@given(st.data(), st.binary(min_size=1, max_size=60), st.binary(max_size=5))
def test_a_sized_body_ends_where_it_should(
    data: st.DataObject, payload: bytes, surplus: bytes
) -> None:
    body = SizedBody(len(payload))
    *pieces, last = data.draw(cut(payload))

    got = b"".join(b"".join(body.feed(piece)) for piece in pieces)
    assert not body.finished
    got += b"".join(body.feed(last + surplus))

    assert got == payload
    assert body.finished
    assert body.surplus == surplus


events = st.lists(
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=20),
    max_size=6,
)


@given(st.data(), events, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", " "]))
def test_events_are_split_however_they_are_cut(
    data: st.DataObject, texts: list[str], end: str, space: str
) -> None:
    texts = [text.removeprefix(" ") if not space else text for text in texts]
    wire = "".join(f"data:{space}{text}{end}{end}" for text in texts).encode()
    splitter = SseSplitter()

    got = [event for piece in data.draw(cut(wire)) for event in splitter.feed(piece)]

    assert got == [text.encode() for text in texts]
    assert splitter.unfinished.strip() == b""


def test_an_event_of_several_lines_is_joined_and_a_comment_is_none() -> None:
    splitter = SseSplitter()

    got = splitter.feed(b": ping\n\nevent: x\ndata: a\ndata: b\nid: 1\n\nretry: 5\n\n")

    assert got == [b"a\nb"]


def test_what_follows_the_last_event_is_unfinished() -> None:
    splitter = SseSplitter()

    assert splitter.feed(b"data: a\n\ndata: b") == [b"a"]
    assert splitter.unfinished == b"data: b"
    assert splitter.feed(b"c\n\n") == [b"bc"]


def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ddbench.load.sse.EVENT_LIMIT_BYTES", 1000)
    splitter = SseSplitter()

    with pytest.raises(BadAnswer, match="longer than 1000 bytes"):
        for _ in range(200):
            splitter.feed(b"data: xxxx")


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b"HTTP/1.1 200 OK", True),
        (b"HTTP/1.1 200", True),
        (b"HTTP/1.1 200 OK\r\nConnection: Close", False),
        (b"HTTP/1.0 200 OK", False),
        (b"HTTP/1.0 200 OK\r\nconnection: keep-alive", True),
    ],
)
def test_a_connection_is_kept_as_the_head_says(raw: bytes, kept: bool) -> None:
    assert parse_head(raw).keep_alive is kept


def test_the_target_is_taken_apart_and_named_in_the_request() -> None:
    target = read_target("http://[::1]:30000/v2/")

    assert target == Target("::1", 30000, "/v2")
    head, _, body = post_bytes(target, "/generate", b'{"text":"\xc3\xbc"}').partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v2/generate HTTP/1.1\r\nHost: [::1]:30000\r\n")
    assert b"\r\nContent-Length: 13" in head
    assert len(body) == 13
