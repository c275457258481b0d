"""The trials of one launch, in order, wherever their server runs."""

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

from ddbench.events import LaunchEnded, LaunchStarted, TrialEnded, TrialSpared, TrialStarted
from ddbench.executors.executor import LaunchJob, Record
from ddbench.executors.measure import unmeasured
from ddbench.load.progress import Progress
from ddbench.records import Launch, RunResult, Trial


class LaunchedServer(Protocol):
    """A server that was started, or that failed to: then `launch.failure` says why."""

    @property
    def launch(self) -> Launch: ...

    def measure(self, trial: Trial, on_progress: Callable[[Progress], None]) -> RunResult: ...

    def is_alive(self) -> bool: ...


Launcher = Callable[[LaunchJob], AbstractContextManager[LaunchedServer]]


def run_launch(
    job: LaunchJob,
    pending: deque[Trial],
    launched: Launcher,
    *,
    record: Record,
    is_spared: Callable[[Trial], bool],
) -> None:
    """Launch once, and take trials off `pending` for as long as the server lives."""
    record(LaunchStarted(job.first.arm, job.log_path))
    with launched(job) as server:
        record(LaunchEnded(server.launch))
        if server.launch.failure is not None:
            while pending:
                result = unmeasured(pending.popleft(), job.versions)
                record(TrialEnded(replace(result, failure=server.launch.failure)))
        while pending:
            trial = pending.popleft()
            if is_spared(trial):
                record(TrialSpared(trial))
                continue
            record(TrialStarted(trial))
            record(TrialEnded(server.measure(trial, record)))
            if not server.is_alive():
                break
