"""A server that streams SGLang's events at known times, and tells when it wrote each of them.

Run it as a script; it prints its port. POST /generate streams; GET /log gives, and forgets, a JSON
list of {"prompt", "received_at", "written_at"} (time.perf_counter(), which Linux shares between
processes). It writes to the socket where it stands, so that a stamp is the moment of the write.
"""

import argparse
import asyncio
import gc
import heapq
import os
import time
from typing import Any

import orjson
import uvloop

TICK_S = 0.001


def event(tokens: int, last: bool, incremental: bool) -> bytes:
    """An event as SGLang 0.5.23 sends it, by default with everything so far."""
    first = tokens - 1 if incremental else 0
    meta: dict[str, Any] = {
        "id": "7d0105c2feef422da0b00ee4df7a2945",
        "finish_reason": {"type": "length", "length": tokens} if last else None,
        "prompt_tokens": 6,
        "weight_version": "default",
        "num_retractions": 0,
        "storage_prefetch_wait": 0.0,
        "storage_staging_wait": 0.0,
        "forward_entry_time": 1796007753.3660896,
        "prefill_finished_time": 1796007753.3803554,
        "queue_time": 0.0005600350000349863,
        "reasoning_tokens": 0,
        "completion_tokens": tokens,
        "cached_tokens": 5,
        "cached_tokens_details": {"device": 5, "host": 0},
        "dp_rank": None,
        "response_sent_to_client_ts": 1796007753.382965,
    }
    if last:
        meta |= {"spec_verify_ct": tokens - 1, "spec_num_correct_drafts": 0}
    body = {
        "text": " token" * (tokens - first),
        "output_ids": list(range(first, tokens)),
        "meta_info": meta,
    }
    data = b"data: " + orjson.dumps(body) + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


class Schedule:
    """Events that are due, over all streams."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.ttft_s = options.ttft_ms / 1000
        self.gap_s = options.gap_ms / 1000
        count = options.events
        self.events = [event(n, n == count, options.incremental) for n in range(1, count + 1)]
        self.finished: list[dict[str, Any]] = []
        self._due: list[tuple[float, int, Stream, int]] = []
        self._serial = 0

    def add(self, stream: "Stream", at: float, index: int) -> None:
        self._serial += 1
        heapq.heappush(self._due, (at, self._serial, stream, index))

    def tick(self) -> None:
        asyncio.get_running_loop().call_later(TICK_S, self.tick)
        while self._due and self._due[0][0] <= time.perf_counter():
            at, _, stream, index = heapq.heappop(self._due)
            stream.write_event(index)
            if index + 1 < len(self.events):
                self.add(stream, at + self.gap_s, index + 1)


class Stream(asyncio.Protocol):
    HEAD = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )
    DONE = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.received = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.fd = transport.get_extra_info("socket").fileno()

    def data_received(self, data: bytes) -> None:
        received_at = time.perf_counter()
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        if not end:
            return
        if head.startswith(b"GET /log"):
            self.received = b""
            answer = orjson.dumps(self.schedule.finished)
            self.schedule.finished = []
            self.transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(answer), answer)
            )
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self.received = b""
        self.record = {
            "prompt": orjson.loads(body)["text"],
            "received_at": received_at,
            "written_at": [],
        }
        self.schedule.add(self, received_at + self.schedule.ttft_s, 0)

    def write_event(self, index: int) -> None:
        data = self.schedule.events[index]
        if index == 0:
            data = self.HEAD + data
        if index + 1 == len(self.schedule.events):
            data += self.DONE
            self.schedule.finished.append(self.record)
        self.record["written_at"].append(time.perf_counter())
        try:
            written = os.write(self.fd, data)
        except BlockingIOError:
            written = 0
        except (BrokenPipeError, ConnectionResetError):
            return
        if written < len(data):
            self.transport.write(data[written:])


async def serve(options: argparse.Namespace) -> None:
    schedule = Schedule(options)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Stream(schedule), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    schedule.tick()
    gc.freeze()
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=64)
    parser.add_argument("--ttft-ms", type=float, default=50.0)
    parser.add_argument("--gap-ms", type=float, default=20.0)
    parser.add_argument("--incremental", action="store_true")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(parser.parse_args()))
