"""Ctrl-C during a load ends the load, and is raised when its loop has closed.

Raised at once it could land in one of the many finalizers that a closing loop runs, where Python
prints and drops it: the sweep would go on.
"""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class HeldInterrupts:
    """What was pressed meanwhile. A second Ctrl-C is not held: it is raised wherever it lands."""

    def __init__(self) -> None:
        self.pressed = False
        self._cancel: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def cancel_then(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
        """`task` is to be cancelled on Ctrl-C."""
        self._cancel = loop, task
        if self.pressed:
            task.cancel()

    def press(self, signum: int, frame: FrameType | None) -> None:
        if self.pressed:
            signal.default_int_handler(signum, frame)
        self.pressed = True
        if self._cancel is not None:
            loop, task = self._cancel
            if not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)


@contextmanager
def interrupts_held() -> Iterator[HeldInterrupts]:
    """Raises KeyboardInterrupt at the end of the block when Ctrl-C was pressed inside.

    Signals reach the main thread only; where they are ignored they stay so.
    """
    held = HeldInterrupts()
    before = signal.getsignal(signal.SIGINT)
    is_heard = threading.current_thread() is threading.main_thread() and callable(before)
    if is_heard:
        signal.signal(signal.SIGINT, held.press)
    try:
        yield held
    finally:
        if is_heard:
            signal.signal(signal.SIGINT, before)
        if held.pressed:
            raise KeyboardInterrupt from None
