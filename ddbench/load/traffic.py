"""What every load does, whatever decides when a request is sent.

    arrivals or workers -> Traffic.connect, Traffic.send -> LoadOutcome, in the order of the prompts

A request that fails is a value; an error that is not the network's is a bug here and propagates.
"""

import asyncio
import gc
import os
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import uvloop

from ddbench.errors import LoadError
from ddbench.load.dialogue import Dialogue
from ddbench.load.http_head import post_bytes
from ddbench.load.http_stream import Address, Inbox, StreamConnection, connect, resolve
from ddbench.load.interrupts import HeldInterrupts, interrupts_held
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
from ddbench.tls import trusted

CONNECT_TIMEOUT_S = 10.0
PROGRESS_PERIOD_S = 0.25
LAG_PERIOD_S = 0.02
GIVE_UP_AFTER = 3  # refused connections in a row, or rounds of requests without an answer


class Traffic:
    """The requests of one load: sent, answered, counted, and given up when nobody answers.

    Whoever drives the load sets `started_at`, from which all sends count until it is over.
    """

    def __init__(
        self,
        dialogue: Dialogue,
        prompts: Sequence[Prompt],
        load: LoadConfig,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.started_at: float | None = None
        self.first_sent_at = 0.0  # once the load is over
        self.given_up: str | None = None
        self._dialogue = dialogue
        self._prompts = prompts
        self._load = load
        self._on_progress = on_progress
        self._outcomes: list[RequestOutcome | None] = [None] * len(prompts)
        self._addresses: list[Address] = []
        self._inbox: Inbox
        self._last_byte_at = 0.0
        self._connect_s: list[float] = []
        self._chunks = self._done = self._failed = self._tokens = 0
        self._refused = self._silent = 0  # in a row
        self._in_flight = self._most_in_flight = 0
        self._refusal = ""
        self._lag_max_s = 0.0
        self._task: asyncio.Task[Any] | None = None
        self._bug: BaseException | None = None
        self._result: LoadOutcome | None = None

    def run(self, drive: Callable[[], Awaitable[None]]) -> LoadOutcome:
        """Run a loop until `drive` has sent what it will; the rest is noted as not sent."""
        with (
            interrupts_held() as interrupts,
            _quiet_collector(),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(self._run(drive, interrupts))
        assert self._result is not None
        return self._result

    async def _run(self, drive: Callable[[], Awaitable[None]], interrupts: HeldInterrupts) -> None:
        """Leaves the result in place: asyncio formats a task that returned one, with all of it."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._take_bug)
        self._task = asyncio.current_task()
        assert self._task is not None
        interrupts.cancel_then(loop, self._task)
        cpu_before_s = time.process_time()
        try:
            self._addresses = await self._resolved()
            self._inbox = Inbox(loop)
            with (
                Ticker(loop, LAG_PERIOD_S, self._take_lag),
                Ticker(loop, PROGRESS_PERIOD_S, self._tell),
            ):
                await drive()
        except asyncio.CancelledError:
            if self._bug is not None:
                raise self._bug from None
            raise
        for index, outcome in enumerate(self._outcomes):
            if outcome is None:
                self.note_unsent(index)
        self._tell()
        self._result = self._outcome(
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
        target = self._dialogue.target
        try:
            return await resolve(target.host, target.port)
        except OSError as cause:
            raise LoadError(
                f"the server's name {target.host!r} is unknown: {cause.strerror}",
                remedy="Correct the base URL, or name the host by its address.",
            ) from cause

    async def connect(self) -> StreamConnection | None:
        """A new connection; None when the server takes none."""
        began_at = time.perf_counter()
        target = self._dialogue.target
        try:
            connection = await connect(
                self._addresses,
                self._inbox,
                CONNECT_TIMEOUT_S,
                tls=trusted() if target.tls else None,
                server_name=target.host,
            )
        except OSError as cause:
            self._refusal = f"no connection: {_why_refused(cause)}"
            if self.started_at is not None:
                self._refused += 1
            if self._refused == GIVE_UP_AFTER:
                self.given_up = f"{self._refusal}, {self._refused} times in a row"
            return None
        self._refused = 0
        self._connect_s.append(time.perf_counter() - began_at)
        return connection

    async def send(self, index: int, connection: StreamConnection, due_at: float) -> float:
        """Send one prompt and note what comes of it; when its last byte arrived."""
        dialogue, prompt = self._dialogue, self._prompts[index]
        answer = dialogue.answer()
        body = dialogue.body(prompt, self._load)
        request = post_bytes(dialogue.target, dialogue.path, body, api_key=dialogue.api_key)
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, self._in_flight)
        exchange = await connection.exchange(request, answer, self._load.timeout_s)
        self._in_flight -= 1
        assert self.started_at is not None
        outcome = answer.outcome(
            exchange,
            prompt,
            sent_s=exchange.sent_at - self.started_at,
            lateness_s=exchange.sent_at - due_at,
        )
        self._last_byte_at = max(self._last_byte_at, exchange.ended_at)
        self._chunks += len(answer.stamps)
        self._silent = self._silent + 1 if exchange.timed_out else 0
        if self._silent == GIVE_UP_AFTER * self._most_in_flight:
            self.given_up = f"{self._silent} requests in a row were not answered in time"
        self._note(index, outcome)
        return exchange.ended_at

    def note_unsent(self, index: int) -> None:
        """Given up, or the one connection that this prompt was worth was refused."""
        assert self.started_at is not None
        failed = RequestFailed(
            prompt_id=self._prompts[index].prompt_id,
            sent_s=time.perf_counter() - self.started_at,
            lateness_s=0.0,
            reason=f"not sent: {self.given_up or self._refusal}",
        )
        self._note(index, failed)

    def _note(self, index: int, outcome: RequestOutcome) -> None:
        key = self._dialogue.api_key
        if isinstance(outcome, RequestFailed) and key:  # some servers repeat a key they refuse
            outcome = replace(outcome, reason=outcome.reason.replace(key, "[api key]"))
        self._outcomes[index] = outcome
        self._done += 1
        if isinstance(outcome, RequestCompleted):
            self._tokens += outcome.completion_tokens
        else:
            self._failed += 1

    def _take_lag(self, late_s: float) -> None:
        self._lag_max_s = max(self._lag_max_s, late_s)

    def _tell(self, _late_s: float = 0.0) -> None:
        if self._on_progress is not None and self.started_at is not None:
            elapsed_s = max(0.0, time.perf_counter() - self.started_at)
            self._on_progress(
                Progress(self._done, self._failed, len(self._prompts), self._tokens, elapsed_s)
            )

    def _outcome(self, client: ClientHealth) -> LoadOutcome:
        """Shift the sends, so that they count from the first of them."""
        outcomes = [outcome for outcome in self._outcomes if outcome is not None]
        assert len(outcomes) == len(self._prompts)
        first_s = min(outcome.sent_s for outcome in outcomes)
        assert self.started_at is not None
        self.first_sent_at = self.started_at + first_s
        return LoadOutcome(
            requests=tuple(replace(o, sent_s=o.sent_s - first_s) for o in outcomes),
            wall_s=max(0.0, self._last_byte_at - self.started_at - first_s),
            client=client,
        )


def _why_refused(cause: OSError) -> str:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({cause.verify_message})"
    if isinstance(cause, ssl.SSLError):
        return f"no TLS ({cause.reason or 'the connection was closed'})"
    return os.strerror(cause.errno) if cause.errno else "timed out"


@contextmanager
def _quiet_collector() -> Iterator[None]:
    """Set aside what lived before: a full collection of it would stop every stream meanwhile."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
