"""A callback at regular times, told how late it comes."""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType


class Ticker:
    """Calls `on_tick(late_s)` every period while its `with` block runs.

    late_s is how long after the due time the loop got to it, the timer's own 1 ms included: what a
    busy loop does to every time that is taken in it.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, period_s: float, on_tick: Callable[[float], None]
    ) -> None:
        self._loop = loop
        self._period_s = period_s
        self._on_tick = on_tick
        self._due_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> "Ticker":
        self._arm()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        self._due_at = time.perf_counter() + self._period_s
        self._timer = self._loop.call_later(self._period_s, self._tick)

    def _tick(self) -> None:
        late_s = max(0.0, time.perf_counter() - self._due_at)
        self._arm()
        self._on_tick(late_s)
