"""Sweeps over a server that is quick and rude, as processes that can be killed."""

import json
import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

ENDLESS_S = 120.0  # no sweep here takes that long
WriteSweep = Callable[..., Path]


class Sweeper:
    """Starts `ddbench` in processes that are warm already, one at a time."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "sweeper.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "SWEEPER_LOG": str(log)},
        )

    def start(self, *args: object) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([*map(str, args)]).encode() + b"\n")
        return self._said(ENDLESS_S)

    def ended(self, within_s: float) -> int | None:
        """The exit code, negative for a signal; None when it still runs."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], within_s)[0]:
            return None
        return self._said(0.0)

    def run(self, *args: object) -> int:
        pid = self.start(*args)
        code = self.ended(ENDLESS_S)
        if code is None:
            os.kill(pid, signal.SIGKILL)
            pytest.fail(f"`ddbench {args}` hangs: {self.log.read_text()[-2000:]}")
        return code

    def close(self) -> None:
        self._process.communicate(timeout=ENDLESS_S)

    def _said(self, within_s: float) -> int:
        assert self._process.stdout is not None
        if within_s and not select.select([self._process.stdout], [], [], within_s)[0]:
            pytest.fail("the sweeper does not answer")
        line = self._process.stdout.readline()
        return int(line)


@pytest.fixture
def sweeper(tmp_path: Path) -> Iterator[Sweeper]:
    sweeper = Sweeper(tmp_path / "stderr.txt")
    yield sweeper
    sweeper.close()


@dataclass(frozen=True)
class Run:
    """A run folder, read with nothing but SQLite."""

    folder: Path

    def trials(self) -> Counter[str]:
        """How many valid results each trial has; the key is everything that was asked."""
        return Counter(self.column("SELECT key FROM trials WHERE failure IS NULL"))

    def arms(self) -> set[str]:
        return set(self.column("SELECT arm FROM trials"))

    def requests_a_trial(self) -> set[int]:
        return set(
            self.column(
                "SELECT count(*) FROM requests JOIN trials USING (trial_id)"
                " WHERE failure IS NULL GROUP BY trial_id"
            )
        )

    def failures(self, of: str = "trials") -> list[str]:
        return self.column(
            f"SELECT json_extract(failure, '$.crash_class') FROM {of} WHERE failure NOT NULL"
        )

    def integrity(self) -> list[str]:
        return self.column("PRAGMA integrity_check")

    def column(self, sql: str) -> list:
        with closing(sqlite3.connect(self.folder / "run.sqlite")) as db:
            return [row[0] for row in db.execute(sql)]


@pytest.fixture(scope="session")
def read_run() -> Callable[[Path], Run]:
    return Run


@pytest.fixture(scope="session")
def living() -> Callable[[Path], list[int]]:
    """Those processes that wrote themselves into this file, and live."""

    def look(pids: Path) -> list[int]:
        found = []
        for pid in sorted(set(map(int, pids.read_text().split() if pids.exists() else []))):
            with suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                is_same = process.environ().get("RUDE_PIDS") == str(pids)
                if is_same and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(pid)
        return found

    return look


@pytest.fixture
def survivors(sweeper: Sweeper, tmp_path: Path) -> Callable[..., Iterator[Run]]:
    """Runs of a sweep file that were killed at random moments, `kills` times in all, each resumed
    until it ended by itself."""

    def run(sweep: Path, *, kills: int, longest_s: float, seed: int) -> Iterator[Run]:
        moments = random.Random(seed)
        left, number = kills, 0
        while left:
            number += 1
            folder = tmp_path / f"run-{number}"
            ended = False
            while not ended:
                # as a user would: what was killed before there was a run is started again
                exists = (folder / "run.sqlite").exists()
                what = ("--resume", folder) if exists else (sweep, "--out", folder)
                pid, started_at = sweeper.start("sweep", *what), time.monotonic()
                moment_s = moments.uniform(0.0, longest_s) if left else ENDLESS_S
                if (code := sweeper.ended(moment_s)) is None:
                    os.kill(pid, signal.SIGKILL)
                    code = sweeper.ended(10.0)
                if code == -signal.SIGKILL:
                    assert left, "a sweep hangs"
                    left -= 1
                else:
                    assert code == 0, sweeper.log.read_text()[-2000:]
                    ended = True
                    if not exists:  # nobody killed it: as long as the machine takes by now
                        longest_s = time.monotonic() - started_at
            yield Run(folder)

    return run
