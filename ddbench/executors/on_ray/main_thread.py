"""Work that lanes hand to the main thread, which alone writes the run and shows it."""

import queue
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

Answer = TypeVar("Answer")

POLL_S = 0.2


class Stopped(Exception):
    """The main thread takes no more calls."""


class MainThread:
    """`call` from any thread, answered by whoever is in `serve_while`."""

    def __init__(self) -> None:
        self._calls: queue.Queue[tuple[Callable[[], Any], Future[Any]]] = queue.Queue()
        self.is_stopped = False

    def call(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """What `function` returns, or raises, in the main thread. Raises Stopped."""
        answer: Future[Answer] = Future()
        self._calls.put((lambda: function(*arguments), answer))
        while True:
            if self.is_stopped:
                raise Stopped
            with suppress(TimeoutError):
                return answer.result(timeout=POLL_S)

    def serve_while(self, goes_on: Callable[[], bool]) -> None:
        """Answer calls until none is left and `goes_on` is False. What a call raises is the
        sweep's own trouble: it is raised here, and lanes are told to stop."""
        while goes_on() or not self._calls.empty():
            try:
                function, answer = self._calls.get(timeout=POLL_S)
            except queue.Empty:
                continue
            try:
                answer.set_result(function())
            except BaseException:
                self.is_stopped = True
                raise

    def stop(self) -> None:
        self.is_stopped = True
