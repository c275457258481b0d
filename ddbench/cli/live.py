"""What a sweep shows while it runs: a live line on a terminal, plain lines elsewhere. On stderr."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from ddbench import sweep
from ddbench.load.progress import Progress as LoadProgress
from ddbench.records import RunResult


class LiveView:
    """Feed it the events of a sweep. Time left assumes that the rest costs what the past did."""

    def __init__(self) -> None:
        self._trials = 0
        self._ended = 0
        self._started_at = time.monotonic()
        self._where = "starting"
        self._console = Console(stderr=True, highlight=False)
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=16),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}", markup=False),
                console=self._console,
                refresh_per_second=2,
                transient=True,
            )
            self._bar.start()
            self._bar.add_task(self._where, total=self._trials, left="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, event: sweep.Event) -> None:
        match event:
            case sweep.PassStarted(trials):
                self._trials += trials
            case sweep.LaunchStarted(arm):
                self._say(f"starting the server of {arm}")
            case sweep.LaunchEnded(launch):
                if launch.failure is None:
                    self._line(f"server ready after {launch.startup_s:.1f} s")
                else:
                    self._line(f"the server did not start: {launch.failure.crash_class}")
                    self._line(f"  {launch.failure.evidence}\n  try: {launch.failure.advice}")
            case sweep.TrialStarted(trial):
                self._say(
                    f"{trial.arm}, concurrency {trial.load.concurrency}, repeat {trial.repeat + 1}"
                )
            case LoadProgress():
                self._progress(event)
            case sweep.TrialSpared():
                self._trials -= 1
                self._update()
            case sweep.TrialEnded(result):
                self._ended += 1
                self._line(f"[{self._ended}/{self._trials}] {self._where}: {_outcome(result)}")
                self._update()

    def _say(self, where: str) -> None:
        self._where = where
        self._update()

    def _progress(self, progress: LoadProgress) -> None:
        if self._bar is not None and progress.elapsed_s > 0:
            rate = progress.tokens / progress.elapsed_s
            self._update(f" {progress.done}/{progress.total} requests, {rate:.0f} tok/s")

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def _update(self, detail: str = "") -> None:
        if self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0],
                description=self._where + detail,
                completed=self._ended,
                total=self._trials,
                left=self._time_left(),
            )

    def _time_left(self) -> str:
        if not self._ended:
            return ""
        spent_s = time.monotonic() - self._started_at
        left_s = spent_s / self._ended * (self._trials - self._ended)
        return f"about {left_s / 60:.0f} min left" if left_s > 90 else f"about {left_s:.0f} s left"


def _outcome(result: RunResult) -> str:
    if result.failure is not None:
        return f"failed ({result.failure.crash_class}): {result.failure.evidence}"
    tokens = sum(request.completion_tokens for request in result.completed)
    rate = f", {tokens / result.wall_s:.0f} tok/s" if result.wall_s else ""
    return f"{len(result.completed)} requests{rate}"
