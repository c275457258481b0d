"""One HTTP/1.1 connection that streams answers and stamps them.

A library's client costs more per streamed chunk than the chunk is worth, and stamps a chunk after
it was parsed, queued and handed to a task. Here a chunk is stamped where it leaves the socket, and
nothing is parsed before every socket that was ready has been read: a burst of 256 chunks does
not make the last one look late. Under TLS the socket's bytes are deciphered first, of one
connection after the other.
"""

import asyncio
import socket
import ssl
from collections import deque
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Protocol, cast

from ddbench.load.bad_answer import BadAnswer
from ddbench.load.http_body import Body, ChunkedBody, body_of
from ddbench.load.http_head import HEAD_LIMIT_BYTES, ResponseHead, parse_head
from ddbench.load.whole_events import whole_events

Address = tuple[socket.AddressFamily, Any]  # what loop.sock_connect takes, by family

ERROR_BODY_LIMIT_BYTES = 64 * 1024

_HELD_PIECES = 16  # of an answer, before they are parsed together
_LARGE_BYTES = 16 * 1024  # a piece that is not held
_PARSED_PER_TURN = 8  # connections; then the sockets are read again
_EVENT_END = b"\n\n\r\n"  # of a chunk that ends an event, and never of an answer


class Sink(Protocol):
    def feed(self, at: float, piece: bytes, /) -> None:
        """Take the payload that arrived at `at`; raise BadAnswer to give the answer up."""
        ...

    def take_events(self, stamps: list[float], events: list[bytes], /) -> None:
        """Take events of one line each, which arrived whole; else as `feed`."""
        ...


@dataclass(frozen=True, slots=True)
class Exchange:
    """What became of one request on the wire. Stamps are time.perf_counter().

    failure says why the answer is not complete; None when it is, whatever its status.
    error_body is that of an answer other than 200, cut at ERROR_BODY_LIMIT_BYTES.
    """

    sent_at: float
    ended_at: float
    status: int | None
    failure: str | None
    timed_out: bool = False
    error_body: bytes = b""


class _ErrorBody:
    """The start of an answer that is not the one hoped for."""

    def __init__(self) -> None:
        self.start = b""

    def feed(self, _at: float, piece: bytes) -> None:
        self.start = (self.start + piece)[:ERROR_BODY_LIMIT_BYTES]

    def take_events(self, stamps: list[float], events: list[bytes]) -> None:
        for at, event in zip(stamps, events, strict=True):
            self.feed(at, b"data: " + event + b"\n\n")


class Inbox:
    """The connections of a loop that hold what is to be parsed, in turn.

    Parsing waits a little: pieces parsed together cost less than a turn of the loop for each, and
    their stamps are taken already. What may end an answer is parsed in the loop's next turn.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[StreamConnection] = deque()
        self._connections = 0

    def phase(self) -> int:
        """How many pieces a new connection holds at first: streams must not parse in step."""
        self._connections += 1
        return 2 + self._connections % (_HELD_PIECES - 1)

    def put(self, connection: "StreamConnection") -> None:
        """Let `connection` parse what it holds, soon."""
        if not self._waiting:
            self._loop.call_soon(self._parse)
        self._waiting.append(connection)

    def _parse(self) -> None:
        waiting = self._waiting
        for _ in range(min(_PARSED_PER_TURN, len(waiting))):
            waiting[0].parse_held()
            waiting.popleft()
        if waiting:
            self._loop.call_soon(self._parse)


class StreamConnection(asyncio.Protocol):
    """A connection that is reused while the server keeps it open; one request at a time."""

    def __init__(self, inbox: Inbox, sock: socket.socket | None) -> None:
        """sock: to write to without a detour; None where the transport has to encipher."""
        self._inbox = inbox
        self._socket = sock
        self._transport: asyncio.Transport | None = None
        self._closed = asyncio.get_running_loop().create_future()
        self._answer: asyncio.Future[Exchange] | None = None
        self._lost_by: Exception | None = None
        self._sink: Sink
        self._sent_at = 0.0
        self._timeout_s = 0.0
        self._stamps: list[float] = []  # of the pieces
        self._pieces: list[bytes] = []  # arrived, not parsed
        self._lost_at: float | None = None
        self._queued = False
        self._phase = inbox.phase()
        self._forget()

    def _forget(self) -> None:
        self._unread_head = b""
        self._head: ResponseHead | None = None
        self._body: Body | None = None
        self._hold = 1  # pieces; more when the answer cannot end but with the last chunk
        self._error_body = _ErrorBody()

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, sink: Sink, timeout_s: float) -> Exchange:
        """Write `request` and give the payload of a 200 answer to `sink` as it arrives.

        The clock starts at the write. Whatever goes wrong on the wire is in the result.
        """
        loop = asyncio.get_running_loop()
        self._forget()
        self._sink, self._timeout_s = sink, timeout_s
        answer: asyncio.Future[Exchange] = loop.create_future()
        self._answer = answer
        timer = loop.call_later(timeout_s, self._expire)
        self._write(request)
        try:
            return await answer
        finally:
            timer.cancel()
            if self._answer is not None:  # cancelled: this connection has half an answer in it
                self._answer = None
                self.abort()

    def _write(self, request: bytes) -> None:
        """Write here and now: uvloop's transport waits for the end of the loop's turn."""
        self._sent_at = perf_counter()
        transport = self._transport
        if transport is None or transport.is_closing():
            self._end(self._sent_at, "the connection was closed before the request was sent")
            return
        if self._socket is None:
            transport.write(request)
            return
        try:
            written = self._socket.send(request)
        except BlockingIOError:
            written = 0
        except OSError as cause:
            self._end(self._sent_at, f"the request could not be sent: {cause.strerror}")
            return
        if written < len(request):
            transport.write(request[written:])

    def abort(self) -> None:
        """Close at once; what is still to be written or read is dropped."""
        if self._transport is not None:
            self._transport.abort()

    async def closed(self) -> None:
        """Close, and wait until the socket is gone."""
        self.abort()
        if self._transport is not None:
            await self._closed

    # ---- called by the loop: stamp, and no more

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class is not one

    def data_received(self, data: bytes) -> None:
        self._stamps.append(perf_counter())
        pieces = self._pieces
        pieces.append(data)
        if len(pieces) >= self._hold or not data.endswith(_EVENT_END) or len(data) > _LARGE_BYTES:
            self._queue()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost_by = exc
        self._lost_at = perf_counter()
        self._queue()
        if not self._closed.done():
            self._closed.set_result(None)

    def _queue(self) -> None:
        if not self._queued:
            self._queued = True
            self._inbox.put(self)

    # ---- called by the inbox

    def parse_held(self) -> None:
        """Take what arrived since the last time."""
        stamps, pieces = self._stamps, self._pieces
        self._stamps, self._pieces, self._queued = [], [], False
        taken = 0
        if self._hold > 1:
            self._hold = _HELD_PIECES
            taken = self._take_events(stamps, pieces)
        for n in range(taken, len(pieces)):
            self._take(stamps[n], pieces[n])
        if self._lost_at is not None:
            at, self._lost_at = self._lost_at, None
            self._take(at, None)

    def _take_events(self, stamps: list[float], pieces: list[bytes]) -> int:
        """Take the pieces that are simple, from the first on; how many."""
        if not isinstance(self._body, ChunkedBody) or self._body.midway:
            return 0
        taken, event_stamps, events = whole_events(stamps, pieces)
        if events:
            try:
                self._sink.take_events(event_stamps, events)
            except BadAnswer as cause:
                self._end(event_stamps[-1], str(cause))
        return taken

    def _take(self, at: float, data: bytes | None) -> None:
        if self._answer is None:
            if data is not None:
                self.abort()  # nobody asked: whatever it is, it is no answer to the next request
            return
        if data is None:
            self._take_end(at)
            return
        try:
            if self._body is None:
                data = self._take_head(data)
                if self._body is None:
                    return
            body, sink = self._body, self._sink
            for piece in body.feed(data):
                sink.feed(at, piece)
            if body.finished:
                self._end(at, "bytes after the end of the answer" if body.surplus else None)
        except BadAnswer as cause:
            self._end(at, str(cause))

    def _take_head(self, data: bytes) -> bytes:
        """Read the head if it is complete; what follows it."""
        data = self._unread_head + data
        while True:
            raw, end, rest = data.partition(b"\r\n\r\n")
            if not end:
                if len(data) > HEAD_LIMIT_BYTES:
                    raise BadAnswer(f"a response head longer than {HEAD_LIMIT_BYTES} bytes")
                self._unread_head = data
                return b""
            head = parse_head(raw)
            if head.status >= 200:
                break
            data = rest  # 1xx: the answer is still to come
        self._head = head
        self._body = body_of(head)
        self._hold = self._phase if head.chunked else 1
        if head.status != 200:
            self._sink = self._error_body
        return rest

    def _take_end(self, at: float) -> None:
        if self._body is not None and self._body.ends_with_connection() and self._lost_by is None:
            self._end(at, None)
            return
        how = "closed" if self._lost_by is None else "reset"
        where = "before an answer" if self._head is None else "in the middle of the answer"
        self._end(at, f"the connection was {how} {where}")

    def _expire(self) -> None:
        self.parse_held()
        if self._answer is None:
            return
        what = "no answer" if self._head is None else "no end of the answer"
        failure = f"{what} within {self._timeout_s:g} s"
        self._end(perf_counter(), failure, timed_out=True)

    def _end(self, at: float, failure: str | None, *, timed_out: bool = False) -> None:
        answer, self._answer = self._answer, None
        self._hold = 1  # what comes now was not asked for, and is looked at once
        if answer is None or answer.done():
            return
        head = self._head
        if failure is not None or head is None or not head.keep_alive:
            self.abort()
        answer.set_result(
            Exchange(
                sent_at=self._sent_at,
                ended_at=at,
                status=None if head is None else head.status,
                failure=failure,
                timed_out=timed_out,
                error_body=self._error_body.start,
            )
        )


async def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a server, in the order to try them.

    Raises:
        OSError: the name is unknown.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


async def connect(
    addresses: list[Address],
    inbox: Inbox,
    timeout_s: float,
    *,
    tls: ssl.SSLContext | None = None,
    server_name: str | None = None,
) -> StreamConnection:
    """Open a connection to the first address that takes one.

    tls: with it the connection is enciphered, and the server's certificate is for `server_name`.

    Raises:
        OSError: none does (TimeoutError and ssl.SSLError are some of them).
    """
    loop = asyncio.get_running_loop()
    refusal: OSError | None = None
    for family, address in addresses:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(timeout_s):
                await loop.sock_connect(sock, address)
                _, connection = await loop.create_connection(
                    partial(StreamConnection, inbox, None if tls else sock),
                    sock=sock,
                    ssl=tls,
                    server_hostname=server_name if tls else None,
                )
        except OSError as cause:
            sock.close()
            refusal = cause
        except asyncio.CancelledError:
            sock.close()
            raise
        else:
            return connection
    if refusal is None:
        raise OSError("the server has no address")
    raise refusal
