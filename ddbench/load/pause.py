"""Waiting for a moment, never less."""

import asyncio
import time


async def sleep_until(at: float) -> None:
    """Return at time.perf_counter() `at`, or up to a timer's millisecond later."""
    # A timer may ring up to a millisecond early, and an event would be set by such a timer.
    while (left_s := at - time.perf_counter()) > 0:  # noqa: ASYNC110
        await asyncio.sleep(left_s)
