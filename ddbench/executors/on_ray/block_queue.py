"""The blocks of a pass, taken by lanes, and given back by those whose host was lost."""

import threading
from collections.abc import Callable, Sequence

from ddbench.records import Trial

Block = Sequence[Trial]


class BlockQueue:
    """Safe between threads."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = [list(block) for block in blocks]
        self._taken = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def take(self, can_run: Callable[[Block], bool]) -> Block | None:
        """The next block that the caller can run. Waits while another may still be given back;
        None when none ever will. Whoever takes one ends it by `done`."""
        with self._changed:
            while not self._is_closed:
                for number, block in enumerate(self._blocks):
                    if can_run(block):
                        self._taken += 1
                        return self._blocks.pop(number)
                if not self._taken:
                    return None
                self._changed.wait()
            return None

    def done(self, rest: Block = ()) -> None:
        """A block that was taken is at its end, but for `rest`, which somebody else may take."""
        with self._changed:
            self._taken -= 1
            if rest:
                self._blocks.insert(0, list(rest))
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody gets another."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def left(self) -> list[Trial]:
        """What nobody could run."""
        with self._changed:
            return [trial for block in self._blocks for trial in block]
