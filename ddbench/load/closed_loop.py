"""A closed loop: so many connections, each of which sends its next prompt when one is answered.

    prompts -> workers (one connection each) -> LoadOutcome, in the order of the prompts

All connections are open before the clock starts. A request that fails is a value; an error that is
not the network's is a bug here and does propagate.
"""

import asyncio
import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import uvloop

from ddbench.errors import LoadError
from ddbench.load.generate import ROUTE, GenerateAnswer, generate_body
from ddbench.load.http_head import Target, post_bytes, read_target
from ddbench.load.http_stream import Address, Inbox, StreamConnection, connect, resolve
from ddbench.load.progress import Progress
from ddbench.load.ticker import Ticker
from ddbench.records import (
    ClientHealth,
    LoadConfig,
    LoadOutcome,
    Prompt,
    RequestCompleted,
    RequestFailed,
    RequestOutcome,
)

CONNECT_TIMEOUT_S = 10.0
PROGRESS_PERIOD_S = 0.25
LAG_PERIOD_S = 0.02
GIVE_UP_AFTER = 3  # refused connections in a row, or rounds of requests without an answer


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
        LoadError: base_url is not an http URL, or there is nothing to send.
        KeyboardInterrupt: after the sockets were closed.
    """
    target = read_target(base_url)
    if not prompts or load.concurrency < 1:
        raise LoadError(
            f"{len(prompts)} prompts at concurrency {load.concurrency} are no load",
            remedy="Give at least one prompt and a concurrency of at least 1.",
        )
    with (
        _quiet_collector(),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return runner.run(_ClosedLoop(target, prompts, load, on_progress).run())


@contextmanager
def _quiet_collector() -> Iterator[None]:
    """Set aside what lived before: a full collection of it would stop every stream meanwhile."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class _ClosedLoop:
    def __init__(
        self,
        target: Target,
        prompts: Sequence[Prompt],
        load: LoadConfig,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._target = target
        self._prompts = prompts
        self._load = load
        self._on_progress = on_progress
        self._workers = min(load.concurrency, len(prompts))
        self._indexes = iter(range(len(prompts)))
        self._outcomes: list[RequestOutcome | None] = [None] * len(prompts)
        self._addresses: list[Address] = []
        self._started_at: float | None = None  # sent_s counts from here until the load is over
        self._last_byte_at = 0.0
        self._connect_s: list[float] = []
        self._chunks = self._done = self._failed = self._tokens = 0
        self._refused = self._silent = 0  # in a row
        self._refusal = ""
        self._given_up: str | None = None
        self._lag_max_s = 0.0
        self._task: asyncio.Task[Any] | None = None
        self._bug: BaseException | None = None

    async def run(self) -> LoadOutcome:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._take_bug)
        self._task = asyncio.current_task()
        cpu_before_s = time.process_time()
        try:
            self._addresses = await self._resolved()
            inbox = Inbox(loop)
            gate = asyncio.Barrier(self._workers)
            with (
                Ticker(loop, LAG_PERIOD_S, self._take_lag),
                Ticker(loop, PROGRESS_PERIOD_S, self._tell),
            ):
                async with asyncio.TaskGroup() as group:
                    for _ in range(self._workers):
                        group.create_task(self._work(inbox, gate))
        except asyncio.CancelledError:
            if self._bug is not None:
                raise self._bug from None
            raise
        for index in self._indexes:
            self._note(index, self._unsent(index))
        self._tell()
        return self._outcome(
            ClientHealth(
                cpu_s=time.process_time() - cpu_before_s,
                loop_lag_max_s=self._lag_max_s,
                chunks=self._chunks,
                connections=len(self._connect_s),
                connect_max_s=max(self._connect_s, default=None),
            )
        )

    def _take_bug(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """An exception in a callback ends the load; asyncio alone would only log it."""
        cause = context.get("exception")
        self._bug = cause if isinstance(cause, BaseException) else RuntimeError(str(context))
        if self._task is not None:
            self._task.cancel()

    async def _resolved(self) -> list[Address]:
        try:
            return await resolve(self._target.host, self._target.port)
        except OSError as cause:
            raise LoadError(
                f"the server's name {self._target.host!r} is unknown: {cause.strerror}",
                remedy="Correct the base URL, or name the host by its address.",
            ) from cause

    async def _work(self, inbox: Inbox, gate: asyncio.Barrier) -> None:
        """One worker: its connection, and the prompts that it gets to."""
        connection = await self._connect(inbox)
        try:
            await gate.wait()
            if self._started_at is None:
                self._started_at = time.perf_counter()
            due_at = self._started_at
            for index in self._indexes:
                if connection is None or not connection.usable:
                    if connection is not None:
                        await connection.closed()
                    connection = await self._connect(inbox)
                    due_at = time.perf_counter()
                if connection is None:
                    self._note(index, self._unsent(index))
                else:
                    due_at = await self._send(index, connection, due_at)
                if self._given_up is not None and (connection is None or not connection.usable):
                    break  # without taking the other workers' prompts
        finally:
            if connection is not None:
                await connection.closed()

    async def _connect(self, inbox: Inbox) -> StreamConnection | None:
        """A new connection; None when the server takes none."""
        began_at = time.perf_counter()
        try:
            connection = await connect(self._addresses, inbox, CONNECT_TIMEOUT_S)
        except OSError as cause:
            self._refusal = (
                f"no connection: {os.strerror(cause.errno) if cause.errno else 'timed out'}"
            )
            if self._started_at is not None:
                self._refused += 1
            if self._refused == GIVE_UP_AFTER:
                self._given_up = f"{self._refusal}, {self._refused} times in a row"
            return None
        self._refused = 0
        self._connect_s.append(time.perf_counter() - began_at)
        return connection

    async def _send(self, index: int, connection: StreamConnection, due_at: float) -> float:
        """Send one prompt and note what comes of it; when its last byte arrived."""
        prompt, answer = self._prompts[index], GenerateAnswer()
        request = post_bytes(self._target, ROUTE, generate_body(prompt, self._load))
        exchange = await connection.exchange(request, answer, self._load.timeout_s)
        assert self._started_at is not None
        outcome = answer.outcome(
            exchange,
            prompt,
            sent_s=exchange.sent_at - self._started_at,
            lateness_s=exchange.sent_at - due_at,
        )
        self._last_byte_at = max(self._last_byte_at, exchange.ended_at)
        self._chunks += len(answer.stamps)
        self._silent = self._silent + 1 if exchange.timed_out else 0
        if self._silent == GIVE_UP_AFTER * self._workers:
            self._given_up = f"{self._silent} requests in a row were not answered in time"
        self._note(index, outcome)
        return exchange.ended_at

    def _unsent(self, index: int) -> RequestFailed:
        """Given up, or the one connection that this prompt was worth was refused."""
        assert self._started_at is not None
        return RequestFailed(
            prompt_id=self._prompts[index].prompt_id,
            sent_s=time.perf_counter() - self._started_at,
            lateness_s=0.0,
            reason=f"not sent: {self._given_up or self._refusal}",
        )

    def _note(self, index: int, outcome: RequestOutcome) -> None:
        self._outcomes[index] = outcome
        self._done += 1
        if isinstance(outcome, RequestCompleted):
            self._tokens += outcome.completion_tokens
        else:
            self._failed += 1

    def _take_lag(self, late_s: float) -> None:
        self._lag_max_s = max(self._lag_max_s, late_s)

    def _tell(self, _late_s: float = 0.0) -> None:
        if self._on_progress is not None and self._started_at is not None:
            elapsed_s = time.perf_counter() - self._started_at
            self._on_progress(
                Progress(self._done, self._failed, len(self._prompts), self._tokens, elapsed_s)
            )

    def _outcome(self, client: ClientHealth) -> LoadOutcome:
        """Shift the sends, so that they count from the first of them."""
        outcomes = [outcome for outcome in self._outcomes if outcome is not None]
        assert len(outcomes) == len(self._prompts)
        first_s = min(outcome.sent_s for outcome in outcomes)
        assert self._started_at is not None
        return LoadOutcome(
            requests=tuple(replace(o, sent_s=o.sent_s - first_s) for o in outcomes),
            wall_s=max(0.0, self._last_byte_at - self._started_at - first_s),
            client=client,
        )
