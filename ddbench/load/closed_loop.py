"""A closed loop: so many connections, each of which sends its next prompt when one is answered.

All connections are open before the clock starts. The first sends are a little apart: requests that
come in one instant wait for each other at the client and at the server, and look slower than any
later one.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from ddbench.errors import LoadError
from ddbench.load.dialogue import open_dialogue
from ddbench.load.pause import sleep_until
from ddbench.load.progress import Progress
from ddbench.load.traffic import Traffic
from ddbench.records import LoadConfig, LoadOutcome, Prompt

STAGGER_S = 0.001  # between two first sends
LONGEST_STAGGER_S = 0.25  # between the first and the last of them


def run_closed_loop(
    base_url: str,
    prompts: Sequence[Prompt],
    load: LoadConfig,
    *,
    on_progress: Callable[[Progress], None] | None = None,
) -> LoadOutcome:
    """Send every prompt once, `load.concurrency` at a time.

    Args:
        on_progress: called at most four times a second, and once at the end.

    Raises:
        LoadError: base_url is not an http or https URL, or there is nothing to send.
        ServerError: it does not answer when it is asked for the model's name.
        KeyboardInterrupt: after the sockets were closed.
    """
    return timed_closed_loop(base_url, prompts, load, on_progress=on_progress)[1]


def timed_closed_loop(
    base_url: str,
    prompts: Sequence[Prompt],
    load: LoadConfig,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    start_at: float | None = None,
) -> tuple[float, LoadOutcome]:
    """As run_closed_loop, with the time.perf_counter() from which the outcome's sends count.

    start_at: of the first send, by the same clock; connections that take longer are late.
    """
    dialogue = open_dialogue(base_url, load)
    if not prompts or load.concurrency < 1:
        raise LoadError(
            f"{len(prompts)} prompts at concurrency {load.concurrency} are no load",
            remedy="Give at least one prompt and a concurrency of at least 1.",
        )
    traffic = Traffic(dialogue, prompts, load, on_progress)
    workers = min(load.concurrency, len(prompts))
    outcome = traffic.run(_ClosedLoop(traffic, workers, len(prompts), start_at).drive)
    return traffic.first_sent_at, outcome


class _ClosedLoop:
    def __init__(
        self, traffic: Traffic, workers: int, prompts: int, start_at: float | None
    ) -> None:
        self._traffic = traffic
        self._workers = workers
        self._indexes = iter(range(prompts))
        self._start_at = start_at
        self._stagger_s = min(STAGGER_S, LONGEST_STAGGER_S / workers)

    async def drive(self) -> None:
        gate = asyncio.Barrier(self._workers)
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(number, gate))

    async def _work(self, number: int, gate: asyncio.Barrier) -> None:
        """One worker: its connection, and the prompts that it gets to."""
        traffic = self._traffic
        connection = await traffic.connect()
        try:
            await gate.wait()
            if traffic.started_at is None:
                now = time.perf_counter()
                traffic.started_at = now if self._start_at is None else self._start_at
            due_at = traffic.started_at + number * self._stagger_s
            await sleep_until(due_at)
            for index in self._indexes:
                if connection is None or not connection.usable:
                    if connection is not None:
                        await connection.closed()
                    connection = await traffic.connect()
                    due_at = time.perf_counter()
                if connection is None:
                    traffic.note_unsent(index)
                else:
                    due_at = await traffic.send(index, connection, due_at)
                if traffic.given_up is not None and (connection is None or not connection.usable):
                    break  # without taking the other workers' prompts
        finally:
            if connection is not None:
                await connection.closed()
