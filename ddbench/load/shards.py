"""More streams than one process can stamp in time: the closed loop, split over several.

Each process takes every n-th prompt and its share of the streams. What comes back are the requests
themselves, on one clock, so that percentiles are those of all of them and never an average.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from ddbench.errors import LoadError, ServerError
from ddbench.load.closed_loop import timed_closed_loop
from ddbench.load.progress import Progress, together
from ddbench.records import ClientHealth, LoadConfig, LoadOutcome, Prompt, RequestOutcome

STREAMS_PER_PROCESS = 256

Shard = tuple[float, LoadOutcome]  # time.perf_counter() of its first send, which Linux shares


def run_sharded(
    base_url: str,
    prompts: Sequence[Prompt],
    load: LoadConfig,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    streams_per_process: int = STREAMS_PER_PROCESS,
) -> LoadOutcome:
    """As run_closed_loop, by as many processes as `load.concurrency` needs; they start together.

    Raises:
        LoadError, ServerError: as run_closed_loop; or a process ended without a result.
    """
    count = -(-load.concurrency // streams_per_process)
    context = multiprocessing.get_context("spawn")
    ends: list[Connection] = []
    processes: list[BaseProcess] = []
    try:
        for part in parts(prompts, load, count):
            ours, theirs = context.Pipe()
            arguments = (theirs, base_url, *part)
            process: BaseProcess = context.Process(target=_run_shard, args=arguments, daemon=True)
            process.start()
            theirs.close()
            ends.append(ours)
            processes.append(process)
        shards = _Shards(ends, on_progress).run()
    finally:
        for started in processes:
            started.kill()
        for started in processes:
            started.join()
        for end in ends:
            end.close()
    return merged(shards)


def parts(
    prompts: Sequence[Prompt], load: LoadConfig, count: int
) -> list[tuple[Sequence[Prompt], LoadConfig]]:
    """What each of `count` shards sends: every n-th prompt, on its share of the streams."""
    shares = [load.concurrency // count + (n < load.concurrency % count) for n in range(count)]
    return [(prompts[n::count], replace(load, concurrency=share)) for n, share in enumerate(shares)]


def merged(shards: Sequence[Shard]) -> LoadOutcome:
    """The shards of a load as one, its requests in the order of the prompts.

    Shard k of n holds prompts k, k + n, k + 2n and so on.
    """
    first_at = min(at for at, _ in shards)
    requests: dict[int, RequestOutcome] = {}
    for number, (at, outcome) in enumerate(shards):
        for n, request in enumerate(outcome.requests):
            requests[number + n * len(shards)] = replace(
                request, sent_s=request.sent_s + at - first_at
            )
    health = [outcome.client for _, outcome in shards]
    return LoadOutcome(
        requests=tuple(requests[n] for n in sorted(requests)),
        wall_s=max(at - first_at + outcome.wall_s for at, outcome in shards),
        client=ClientHealth(
            cpu_s=max(client.cpu_s for client in health),
            loop_lag_max_s=max(client.loop_lag_max_s for client in health),
            chunks=sum(client.chunks for client in health),
            connections=sum(client.connections or 0 for client in health),
            connect_max_s=max(
                (c.connect_max_s for c in health if c.connect_max_s is not None), default=None
            ),
            processes=len(shards),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Refused:
    """An error of one process, as it crosses to the other: errors themselves may not pickle."""

    kind: type[LoadError | ServerError]
    message: str
    remedy: str


class _Shards:
    """The processes of one load, as seen through their pipes."""

    def __init__(
        self, ends: Sequence[Connection], on_progress: Callable[[Progress], None] | None
    ) -> None:
        self._ends = ends
        self._on_progress = on_progress
        self._progress: dict[int, Progress] = {}
        self._results: dict[int, Shard] = {}

    def run(self) -> list[Shard]:
        for end in self._ends:
            self._receive(end)  # it has imported what it needs
        for end in self._ends:
            end.send("go")
        while left := [e for n, e in enumerate(self._ends) if n not in self._results]:
            for ready in wait(left):
                assert isinstance(ready, Connection)
                self._take(self._ends.index(ready), self._receive(ready))
        return [self._results[number] for number in range(len(self._ends))]

    def _receive(self, end: Connection) -> object:
        try:
            said: object = end.recv()
        except EOFError:
            raise LoadError(
                "a process of the load generator ended without a result",
                remedy="Look for the kernel's out-of-memory killer in `dmesg`.",
            ) from None
        if isinstance(said, _Refused):
            raise said.kind(said.message, remedy=said.remedy)
        return said

    def _take(self, number: int, said: object) -> None:
        if isinstance(said, Progress):
            self._progress[number] = said
            self._tell()
        else:
            assert isinstance(said, tuple)
            self._results[number] = said

    def _tell(self) -> None:
        if self._on_progress is not None and len(self._progress) == len(self._ends):
            self._on_progress(together(self._progress.values()))


def _run_shard(end: Connection, base_url: str, prompts: Sequence[Prompt], load: LoadConfig) -> None:
    """In a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it, too, and ends this one
    try:
        end.send("ready")
        end.recv()
    except (EOFError, OSError):  # the parent is gone
        return
    threading.Thread(target=_die_with_parent, args=(end,), daemon=True).start()
    try:
        shard = timed_closed_loop(base_url, prompts, load, on_progress=end.send)
    except (LoadError, ServerError) as error:
        kind = ServerError if isinstance(error, ServerError) else LoadError
        end.send(_Refused(kind, str(error), error.remedy))
    else:
        end.send(shard)
    time.sleep(60)  # the parent ends this process once it has read everything


def _die_with_parent(end: Connection) -> None:
    try:
        end.recv()  # nothing more is ever sent
    except (EOFError, OSError):
        os._exit(1)
