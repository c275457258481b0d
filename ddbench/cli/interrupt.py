"""Ctrl-C that does not get lost.

Python drops an exception that is raised while it runs a finalizer, and closing a load runs many. So
while a trial is measured the handler only notes the key, and the events of the sweep raise.
"""

import signal
from types import FrameType

from ddbench import events


class Interrupts:
    """Takes Ctrl-C from now on. Show it each event of the sweep."""

    def __init__(self) -> None:
        self._pressed = False
        self._measuring = False
        signal.signal(signal.SIGINT, self._press)

    def show(self, event: events.Event) -> None:
        """Raises KeyboardInterrupt when Ctrl-C was pressed."""
        if isinstance(event, events.TrialStarted):
            self._measuring = True
        elif isinstance(event, events.TrialEnded):
            self._measuring = False
        if self._pressed:
            raise KeyboardInterrupt

    def _press(self, signum: int, frame: FrameType | None) -> None:
        is_second, self._pressed = self._pressed, True
        if is_second or not self._measuring:
            signal.default_int_handler(signum, frame)
