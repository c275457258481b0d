"""Between the scheduler's thread and the event loop: who waits for which request."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ddbench.engine.generation import Finish, Generation, GenerationRequest
from ddbench.engine.scheduler import Progress, Scheduler
from ddbench.errors import RequestRefused


class Ticket:
    """What a handler may send of one request: its first `tokens` tokens, and how it ended."""

    def __init__(self, generation: Generation, changed: asyncio.Event) -> None:
        self.generation = generation
        self.tokens = 0
        self.finish: Finish | None = None
        self.dispatched_s = time.time()
        self.changed = changed  # shared by the tickets of one HTTP request


async def until_all_ended(tickets: Sequence[Ticket]) -> None:
    """Of one HTTP request, which share what tells of a change."""
    while not all(ticket.finish for ticket in tickets):
        await tickets[0].changed.wait()
        tickets[0].changed.clear()


class TicketOffice:
    """All methods run in the event loop's thread but `announce`."""

    def __init__(self, scheduler: Scheduler, loop: asyncio.AbstractEventLoop) -> None:
        self._scheduler = scheduler
        self._loop = loop
        self._tickets: dict[str, Ticket] = {}

    @contextmanager
    def open(self, requests: Sequence[GenerationRequest]) -> Iterator[list[Ticket]]:
        """Hand requests to the scheduler; on leaving, stop those that are still in work.

        A client that goes away cancels its handler, which leaves. Raises RequestRefused, and hands
        over nothing, when an id is in use.
        """
        received_s = time.time()
        rids = [request.rid for request in requests]
        if len(set(rids)) < len(rids) or any(rid in self._tickets for rid in rids):
            raise RequestRefused(
                "Duplicate request ID detected", remedy="Give every request an rid of its own."
            )
        changed = asyncio.Event()
        tickets = [Ticket(Generation(request, received_s), changed) for request in requests]
        for rid, ticket in zip(rids, tickets, strict=True):
            self._tickets[rid] = ticket
            self._scheduler.submit(ticket.generation)
        try:
            yield tickets
        finally:
            for rid, ticket in zip(rids, tickets, strict=True):
                del self._tickets[rid]
                if ticket.finish is None:
                    self._scheduler.abort(ticket.generation)

    def abort(self, rid: str | None) -> None:
        """Stop one request, or all of them; one that is not there is no error, as in SGLang."""
        for ticket in list(self._tickets.values()):
            if rid in (None, ticket.generation.request.rid):
                self._scheduler.abort(ticket.generation)

    def announce(self, progress: list[Progress]) -> None:
        """Called from the scheduler's thread, once a step."""
        self._loop.call_soon_threadsafe(self._deliver, progress)

    def _deliver(self, progress: list[Progress]) -> None:
        for report in progress:
            ticket = self._tickets.get(report.generation.request.rid)
            if ticket is None or ticket.generation is not report.generation:
                continue  # its client is gone
            ticket.tokens = report.tokens
            ticket.finish = report.finish
            ticket.changed.set()
