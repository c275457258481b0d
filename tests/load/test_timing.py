"""Times against a server that knows when it wrote each event.

A busy machine spoils an attempt, a wrong clock spoils them all: one good attempt is enough. The
figures at 128 and 256 streams are those of tests/benchmarks/bench_client.py.
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
import requests
import uvloop

from ddbench.load.http_head import post_bytes, read_target
from ddbench.load.http_stream import Inbox, connect, resolve
from ddbench.records import RequestCompleted, RequestOutcome

ATTEMPTS = 5


@pytest.mark.parametrize("streaming", [(), ("--incremental",)], ids=["cumulative", "incremental"])
def test_times_are_those_of_the_server(
    streaming: tuple[str, ...], start: Callable[..., Any], ask: Any
) -> None:
    options = ("--ttft-ms", 40, "--gap-ms", 20, "--events", 24, *streaming)
    with start("scheduled_server.py", *options) as base_url:
        for _ in range(ATTEMPTS):
            outcomes = ask(base_url, *map(str, range(32)), concurrency=8).requests
            log = requests.get(f"{base_url}/log", timeout=30).json()
            ttft_errors, gap_errors = errors(outcomes, log)
            median = statistics.median(ttft_errors), statistics.median(gap_errors)
            p99 = statistics.quantiles(gap_errors, n=100)[98]
            if median[0] < 0.001 and median[1] < 0.001 and p99 < 0.01:
                return
    pytest.fail(f"medians {median}, p99 {p99} s")


def errors(
    outcomes: Sequence[RequestOutcome], log: Sequence[dict[str, Any]]
) -> tuple[list[float], list[float]]:
    """How far TTFTs and inter-chunk times are from the server's, in seconds."""
    truth = {record["prompt"]: record for record in log}
    ttft_errors, gap_errors = [], []
    for number, request in enumerate(outcomes):
        assert isinstance(request, RequestCompleted), request
        record = truth[str(number)]
        written, stamps = record["written_at"], request.chunk_offsets_s
        assert len(stamps) == len(written) == 24
        ttft_errors.append(abs(request.ttft_s - (written[0] - record["received_at"])))
        pairs = zip(pairwise(stamps), pairwise(written), strict=True)
        gap_errors += [abs((b - a) - (d - c)) for (a, b), (c, d) in pairs]
    return ttft_errors, gap_errors


class SlowReader:
    """Needs 2 ms for every piece: far longer than any parser."""

    def __init__(self) -> None:
        self.stamps: list[float] = []

    def feed(self, at: float, _: bytes) -> None:
        self.stamps.append(at)
        time.sleep(0.002)

    def take_events(self, stamps: list[float], events: list[bytes]) -> None:
        for at, event in zip(stamps, events, strict=True):
            self.feed(at, event)


def test_slow_reading_does_not_make_a_burst_look_late(start: Callable[..., Any]) -> None:
    """32 events are written at once; reading them takes 64 ms, so that half would be 32 ms late."""

    async def burst(base_url: str) -> dict[str, float]:
        target = read_target(base_url)
        inbox = Inbox(asyncio.get_running_loop())
        addresses = await resolve(target.host, target.port)
        streams = [await connect(addresses, inbox, 5) for _ in range(32)]
        readers = [SlowReader() for _ in streams]
        bodies = [b'{"text": "%d"}' % n for n in range(32)]
        await asyncio.gather(
            *(
                stream.exchange(post_bytes(target, "/generate", body), reader, 20)
                for stream, reader, body in zip(streams, readers, bodies, strict=True)
            )
        )
        for stream in streams:
            await stream.closed()
        return {str(n): reader.stamps[1] for n, reader in enumerate(readers)}

    with start("scheduled_server.py", "--gap-ms", 300, "--events", 3) as base_url:
        for _ in range(ATTEMPTS):
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                second_at = runner.run(burst(base_url))
            log = requests.get(f"{base_url}/log", timeout=30).json()
            late_s = [second_at[record["prompt"]] - record["written_at"][1] for record in log]
            if statistics.median(late_s) < 0.01:
                return
    pytest.fail(f"half are {statistics.median(late_s)} s late")
