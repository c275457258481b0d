"""What a streamed chunk costs our client, and how far off its times are, beside two others.

    python tests/benchmarks/bench_client.py [--streams 128 256] [--rounds 2] [--incremental]

    raw      an asyncio protocol on uvloop with orjson: events found, stamped, parsed; no more
    ours     run_closed_loop
    aiohttp  aiohttp on uvloop with orjson, each event stamped when the session hands it out
    sglang   what `python -m sglang.bench_serving` streams with; --sglang-python or
             $DDBENCH_SGLANG_PYTHON names an interpreter that has SGLang, without one it is left out

All talk to tests/load/scheduled_server.py, a process of its own, each from a process of its
own, in turns, and but for SGLang's all begin their streams a millisecond apart. CPU is that of the
client's process over the load. The truth is when the server read the request and wrote the events:
TTFT error leaves out the first wave; inter-chunk error is of the gap between two events of a
stream. The best of the rounds counts.

Measured on two cores with little else to do (load average 1), when the streams of the raw client
still began in step, which costs it fewer turns of its loop. us/chunk at 128/256 streams: raw
12.8/10.6, ours 16.0/13.9 (1.25/1.31 x raw), aiohttp 22.7/21.3, sglang 48.8/42.0. TTFT is off by
0.09/0.16 ms (ours), 7.1/15.0 (aiohttp), 29/72 (sglang), inter-chunk times at the 99th percentile by
0.41/1.24 ms, 3.3/5.7 and 3.2/11.8. Four more runs of the same: ours 1.34 to 1.58 x raw, off by at
most 0.2 ms and 0.3 ms. With the streams apart, on quiet cores:
raw 12.4/11.1, ours 15.1/13.3 (1.22/1.20 x raw), aiohttp 29.3/25.8; TTFT off by 0.10/0.17 ms,
inter-chunk times by 0.09/0.16 ms (ours). On cores shared with much else (load average 2 to 10):
0.95/1.15 x raw, with --incremental 1.22/1.19.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import uvloop

from ddbench.load.closed_loop import LONGEST_STAGGER_S, STAGGER_S, run_closed_loop
from ddbench.records import LoadConfig, Prompt, RequestCompleted

SERVER = Path(__file__).parent.parent / "load" / "scheduled_server.py"
REQUESTS_PER_STREAM = 3
SGLANG_CLIENT = Path(__file__).parent / "sglang_bench_client.py"
CLIENTS = ("raw", "ours", "aiohttp", "sglang")

Times = dict[str, tuple[float, list[float]]]  # prompt -> TTFT, then the stamps


def run_ours(port: int, streams: int) -> tuple[float, Times]:
    count = streams * REQUESTS_PER_STREAM
    load = LoadConfig("bench", count, streams, 64)
    prompts = [Prompt(str(n), str(n)) for n in range(count)]
    outcome = run_closed_loop(f"http://127.0.0.1:{port}", prompts, load)
    times: Times = {}
    for request in outcome.requests:
        assert isinstance(request, RequestCompleted), request
        times[request.prompt_id] = (request.ttft_s, list(request.chunk_offsets_s))
    return outcome.client.cpu_s, times


def stagger_s(worker: int, streams: int) -> float:
    """When a stream begins, as ours do: streams in step cost a client fewer turns of its loop."""
    return worker * min(STAGGER_S, LONGEST_STAGGER_S / streams)


class RawStream(asyncio.Protocol):
    """As little as a client can do and still stamp and parse every event."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        at = time.perf_counter()
        self.pending += data
        while (end := self.pending.find(b"\n\n")) >= 0:
            event = self.pending[self.pending.find(b"data: ") + 6 : end]
            self.pending = self.pending[end + 2 :]
            if event == b"[DONE]":
                self.over = True
            else:
                self.last = orjson.loads(event)
                self.stamps.append(at)
        if self.over and self.pending.endswith(b"0\r\n\r\n"):
            self.answered.set_result(None)

    async def send(self, request: bytes) -> tuple[float, list[float]]:
        self.pending, self.over, self.last, self.stamps = b"", False, None, []
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        sent_at = time.perf_counter()
        self.transport.write(request)
        await self.answered
        return self.stamps[0] - sent_at, self.stamps


async def run_raw(port: int, streams: int) -> tuple[float, Times]:
    loop = asyncio.get_running_loop()
    before_s = time.process_time()
    numbers = iter(range(streams * REQUESTS_PER_STREAM))
    times: Times = {}

    async def work(worker: int) -> None:
        _, stream = await loop.create_connection(RawStream, "127.0.0.1", port)
        await asyncio.sleep(stagger_s(worker, streams))
        for number in numbers:
            body = orjson.dumps({"text": str(number), "stream": True})
            head = b"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
            times[str(number)] = await stream.send(head + body)
        stream.transport.close()

    await asyncio.gather(*(work(worker) for worker in range(streams)))
    return time.process_time() - before_s, times


async def run_aiohttp(port: int, streams: int) -> tuple[float, Times]:
    before_s = time.process_time()
    numbers = iter(range(streams * REQUESTS_PER_STREAM))
    times: Times = {}

    async def work(session: aiohttp.ClientSession, worker: int) -> None:
        await asyncio.sleep(stagger_s(worker, streams))
        for number in numbers:
            sent_at, stamps = time.perf_counter(), []
            async with session.post("/generate", json={"text": str(number)}) as response:
                async for line in response.content:
                    if line.startswith(b"data: {"):
                        stamps.append(time.perf_counter())
                        orjson.loads(line[6:])
            times[str(number)] = (stamps[0] - sent_at, stamps)

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{port}", connector=connector, read_bufsize=2**20
    ) as session:
        await asyncio.gather(*(work(session, worker) for worker in range(streams)))
    return time.process_time() - before_s, times


def run_client(name: str, port: int, streams: int, out: Path) -> None:
    """In a process of its own: load the server, write what was measured as JSON."""
    if name == "ours":
        cpu_s, times = run_ours(port, streams)
    else:
        client = run_raw if name == "raw" else run_aiohttp
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            cpu_s, times = runner.run(client(port, streams))
    out.write_text(json.dumps({"cpu_s": cpu_s, "times": times}))


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure(client: str, port: int, streams: int, sglang_python: str = "") -> dict[str, float]:
    """us per chunk; median TTFT error and p99 inter-chunk error in ms."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "result.json")
        argv = [sys.executable, __file__, "--client", client, "--port", str(port)]
        argv += ["--streams", str(streams), "--out", str(out)]
        if client == "sglang":
            requests = str(streams * REQUESTS_PER_STREAM)
            argv = [sglang_python, str(SGLANG_CLIENT), str(port), str(streams), requests, str(out)]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        result = json.loads(out.read_text())
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/log") as response:
        truth = {record["prompt"]: record for record in json.load(response)}
    times = result["times"]
    ttft, gaps = [], []
    for prompt, (ttft_s, stamps) in times.items():
        received_at, written = truth[prompt]["received_at"], truth[prompt]["written_at"]
        if int(prompt) >= streams:
            ttft.append(abs(ttft_s - (written[0] - received_at)))
        for n in range(1, len(stamps)):
            gaps.append(abs((stamps[n] - stamps[n - 1]) - (written[n] - written[n - 1])))
    return {
        "us": 1e6 * result["cpu_s"] / sum(len(stamps) for _, stamps in times.values()),
        "ttft": 1e3 * statistics.median(ttft),
        "gap": 1e3 * quantile(gaps, 0.99),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, nargs="+", default=[128, 256])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--incremental", action="store_true")
    parser.add_argument("--clients", choices=CLIENTS, nargs="+", default=CLIENTS)
    parser.add_argument("--sglang-python", default=os.environ.get("DDBENCH_SGLANG_PYTHON", ""))
    parser.add_argument("--client", choices=CLIENTS)
    parser.add_argument("--port", type=int)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.client:
        run_client(options.client, options.port, options.streams[0], options.out)
        return
    clients = [client for client in CLIENTS if client in {"raw", *options.clients}]
    if not options.sglang_python and "sglang" in clients:
        clients.remove("sglang")
    argv = [sys.executable, str(SERVER), *(["--incremental"] if options.incremental else [])]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            print("streams client  us/chunk  x raw  TTFT error p50 ms  inter-chunk error p99 ms")
            for streams in options.streams:
                found: dict[str, list[dict[str, float]]] = {client: [] for client in clients}
                for turn in range(options.rounds):
                    for client in clients if turn % 2 == 0 else reversed(clients):
                        found[client].append(measure(client, port, streams, options.sglang_python))
                best = {c: {k: min(r[k] for r in found[c]) for k in found[c][0]} for c in clients}
                for client, row in best.items():
                    ratio = row["us"] / best["raw"]["us"]
                    print(
                        f"{streams:7d} {client:7s} {row['us']:8.1f} {ratio:6.2f}"
                        f" {row['ttft']:18.2f} {row['gap']:25.2f}",
                        flush=True,
                    )
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
