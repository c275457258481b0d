"""Ctrl-C that does not get lost.

Python drops an exception that is raised while it runs a finalizer, and a KeyboardInterrupt may be
raised anywhere. So the handler also remembers, and whoever works in rounds asks.
"""

import signal
from types import FrameType

_pressed = False


def remember_interrupts() -> None:
    signal.signal(signal.SIGINT, _interrupt)


def raise_if_interrupted() -> None:
    """Raises KeyboardInterrupt when Ctrl-C was pressed before, seen or not."""
    if _pressed:
        raise KeyboardInterrupt


def _interrupt(signum: int, frame: FrameType | None) -> None:
    global _pressed  # a signal handler has no other place to leave a word
    _pressed = True
    signal.default_int_handler(signum, frame)
