"""When prefills happened, so that windows can be asked about in any number."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from datetime import datetime
from itertools import accumulate

from ddbench.records import PrefillWindow


class PrefillTimes:
    """The stamped prefill lines of one rank, by time."""

    def __init__(self, lines: Iterable[PrefillWindow], ranks: str) -> None:
        stamped = sorted(
            (line.logged_at, line.new_requests or 0)
            for line in lines
            if line.ranks == ranks and line.logged_at is not None
        )
        self._times = [time for time, _ in stamped]
        self._admitted = [0, *accumulate(new for _, new in stamped)]

    def __bool__(self) -> bool:
        return bool(self._times)

    def lines(self, start: datetime, end: datetime) -> int:
        """Prefill lines from `start` to `end`, both seconds included."""
        return bisect_right(self._times, end) - bisect_left(self._times, start)

    def admitted(self, start: datetime, end: datetime) -> int:
        """Requests that those lines admitted."""
        first, last = bisect_left(self._times, start), bisect_right(self._times, end)
        return self._admitted[last] - self._admitted[first] if last > first else 0
