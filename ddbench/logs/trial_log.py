"""A server's log over one trial: what was written meanwhile, and proof that it only grew.

A log that was rotated or truncated may have grown beyond the old offset by the time it is read:
what stands between two offsets then is not what was logged between them.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ddbench.errors import LogFormatError
from ddbench.logs.excerpt import read_excerpt
from ddbench.records import LogExcerpt

REMEMBERED_BYTES = 4096
MOST_LAGS = 10
"""A server that never stops to log is not waited for longer than this many times its lag."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """Where the log ended at one moment. file: its device and inode. ending: its last bytes."""

    size: int
    file: tuple[int, int]
    ending: bytes


_NOTHING = _Mark(0, (0, 0), b"")


class TrialLog:
    """path None is a server whose log we do not have: nothing is read, and nothing is wrong.

    lag_s: how long after an answer its lines may still be missing. clock: seconds; only for tests
    another than the one that sends are timed with.
    """

    def __init__(
        self, path: Path | None, lag_s: float, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._path = path
        self._lag_s = lag_s
        self._clock = clock
        self._mark = _NOTHING
        self._looks: list[tuple[float, int]] = []
        self._began_at = float("inf")
        self.begin()

    @property
    def start(self) -> int:
        """Where what belongs to the trial begins."""
        return self._mark.size

    def begin(self) -> None:
        """What is logged from now on belongs to the trial.

        Raises LogFormatError when the log is gone, or has not only grown since the last time.
        """
        if self._path is None:
            return
        self._settle(self._path)
        before, self._mark = self._mark, _mark_of(self._path)
        if before is not _NOTHING:
            _require_only_grown(self._path, before)

    def look(self, elapsed_s: float) -> None:
        """Note how long the log is while the load runs.

        elapsed_s: since the first send, as known by now; it may be old, and is never too new.
        """
        if self._path is None:
            return
        at = self._clock()
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return  # said when it is read
        self._began_at = min(self._began_at, at - elapsed_s)
        self._looks.append((at, size))

    def excerpt(self, steady_span_s: tuple[float, float] | None) -> LogExcerpt:
        """What was logged since `begin`.

        steady_span_s: since the first send; which lines fall into it is known by the looks alone,
        so what was written between two of them, one outside, is left out of it.
        Raises LogFormatError when the log is gone, or has not only grown.
        """
        if self._path is None:
            return LogExcerpt()
        self._settle(self._path)
        steady = None if steady_span_s is None else self._bytes_within(*steady_span_s)
        excerpt = read_excerpt(self._path, self.start, None, steady=steady)
        _require_only_grown(self._path, self._mark)
        return excerpt

    def _settle(self, path: Path) -> None:
        """Until the log has not grown for as long as a line may be under way."""
        if self._lag_s == 0:
            return
        size = None
        for _ in range(MOST_LAGS):
            time.sleep(self._lag_s)
            before, size = size, _mark_of(path).size
            if size == before:
                return

    def _bytes_within(self, begin_s: float, end_s: float) -> tuple[int, int] | None:
        """None when fewer than two looks fell into it."""
        sizes = [
            size
            for at, size in self._looks
            if begin_s + self._lag_s <= at - self._began_at <= end_s
        ]
        return (sizes[0], sizes[-1]) if len(sizes) > 1 else None


def _mark_of(path: Path) -> _Mark:
    try:
        with path.open("rb") as log:
            found = os.fstat(log.fileno())
            log.seek(max(0, found.st_size - REMEMBERED_BYTES))
            ending = log.read(min(found.st_size, REMEMBERED_BYTES))
    except OSError as cause:
        raise _rotated(path) from cause
    return _Mark(found.st_size, (found.st_dev, found.st_ino), ending)


def _require_only_grown(path: Path, mark: _Mark) -> None:
    try:
        with path.open("rb") as log:
            found = os.fstat(log.fileno())
            log.seek(mark.size - len(mark.ending))
            is_same = log.read(len(mark.ending)) == mark.ending
    except OSError as cause:
        raise _rotated(path) from cause
    if (found.st_dev, found.st_ino) != mark.file or not is_same:
        raise _rotated(path)


def _rotated(path: Path) -> LogFormatError:
    return LogFormatError(
        f"the server's log {path} was rotated, truncated or removed",
        remedy="Let nothing rotate or truncate the log while the sweep runs.",
    )
