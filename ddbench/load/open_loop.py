"""An open loop: requests arrive at times of their own, however long the earlier ones take.

Each request has its connection a little before it is due, so that a slow set-up does not make it
late; what still does is in its `lateness_s`.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from ddbench.errors import LoadError
from ddbench.load.arrivals import arrival_times
from ddbench.load.dialogue import open_dialogue
from ddbench.load.http_stream import StreamConnection
from ddbench.load.pause import sleep_until
from ddbench.load.progress import Progress
from ddbench.load.traffic import Traffic
from ddbench.records import LoadConfig, LoadOutcome, Prompt

PREPARE_S = 0.25  # before a request is due it gets its connection
IDLE_LIMIT_S = 2.0  # servers close idle connections, uvicorn after 5 s: never race against that


def run_open_loop(
    base_url: str,
    prompts: Sequence[Prompt],
    load: LoadConfig,
    *,
    on_progress: Callable[[Progress], None] | None = None,
) -> LoadOutcome:
    """Send every prompt once, each when it is due by `load.rate_per_s` and `load.arrival`.

    Args:
        on_progress: called at most four times a second, and once at the end.

    Raises:
        LoadError: base_url is not an http or https URL, there is nothing to send, or no rate.
        ServerError: as run_closed_loop.
        KeyboardInterrupt: after the sockets were closed.
    """
    dialogue = open_dialogue(base_url, load)
    if not prompts or load.rate_per_s is None or load.rate_per_s <= 0:
        raise LoadError(
            f"{len(prompts)} prompts at {load.rate_per_s} requests a second are no load",
            remedy="Give at least one prompt and a rate above 0.",
        )
    traffic = Traffic(dialogue, prompts, load, on_progress)
    return traffic.run(_OpenLoop(traffic, arrival_times(load, len(prompts))).drive)


class _OpenLoop:
    def __init__(self, traffic: Traffic, arrivals_s: list[float]) -> None:
        self._traffic = traffic
        self._arrivals_s = arrivals_s
        self._idle: list[tuple[float, StreamConnection]] = []  # since when; the latest comes last

    async def drive(self) -> None:
        started_at = self._traffic.started_at = time.perf_counter() + PREPARE_S
        try:
            async with asyncio.TaskGroup() as group:
                for index, arrival_s in enumerate(self._arrivals_s):
                    due_at = started_at + arrival_s
                    await sleep_until(due_at - PREPARE_S)
                    if self._traffic.given_up is not None:
                        break
                    group.create_task(self._request(index, due_at))
        finally:
            for _, connection in self._idle:
                await connection.closed()

    async def _request(self, index: int, due_at: float) -> None:
        connection = await self._connection()
        if connection is None:
            self._traffic.note_unsent(index)
            return
        try:
            await sleep_until(due_at)
            ended_at = await self._traffic.send(index, connection, due_at)
        except BaseException:
            await connection.closed()
            raise
        self._idle.append((ended_at, connection))

    async def _connection(self) -> StreamConnection | None:
        """The one that was used last, if it still can be; else a new one."""
        while self._idle:
            since, connection = self._idle.pop()
            if connection.usable and time.perf_counter() - since < IDLE_LIMIT_S:
                return connection
            await connection.closed()
        return await self._traffic.connect()
