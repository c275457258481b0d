"""The driver's side of one launch on a host."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from ddbench.errors import RunError
from ddbench.executors.executor import LaunchJob
from ddbench.executors.on_ray.board import BoardHandle
from ddbench.executors.on_ray.values import Host, LeftFile, Refused
from ddbench.load.progress import Progress
from ddbench.records import Launch, RunResult, Trial

PROGRESS_PERIOD_S = 0.5


class HostLost(Exception):
    """The worker or its whole host is gone."""


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """A LaunchedServer. Every method raises HostLost, and RemoteError for what the host refused."""

    ray: Any
    worker: Any
    host: Host
    board: BoardHandle
    launch: Launch

    def measure(self, trial: Trial, on_progress: Callable[[Progress], None]) -> RunResult:
        under_way = self.worker.measure.remote(trial)
        while not self.ray.wait([under_way], timeout=PROGRESS_PERIOD_S)[0]:
            progress = self.ray.get(self.board.read.remote(self.host.name))
            if progress is not None:
                on_progress(progress)
        result: RunResult = answer_of(self.ray, self.host, under_way)
        return result

    def is_alive(self) -> bool:
        return bool(answer_of(self.ray, self.host, self.worker.is_alive.remote()))


@contextmanager
def launched_on(
    ray: Any, host: Host, board: BoardHandle, new_worker: Callable[[], Any], job: LaunchJob
) -> Iterator[RemoteServer]:
    """As launch.launched, on a host; at the end its files are beside `job.log_path`.

    Raises HostLost, RemoteError, RunError when there is no space for the files here.
    """
    worker = new_worker()
    try:
        launch = answer_of(ray, host, worker.start.remote(job))
        yield RemoteServer(ray, worker, host, board, launch)
        for file in answer_of(ray, host, worker.stop.remote()):
            _bring(ray, host, worker, file, job.log_path.parent)
    finally:
        ray.kill(worker)


def answer_of(ray: Any, host: Host, reference: Any) -> Any:
    """What a worker's method returns. Raises HostLost, RemoteError."""
    try:
        answer = ray.get(reference)
    except ray.exceptions.RayTaskError:
        raise  # a bug there
    except ray.exceptions.RayError as cause:
        raise HostLost(type(cause).__name__) from cause
    if isinstance(answer, Refused):
        raise answer.error(host)
    return answer


def _bring(ray: Any, host: Host, worker: Any, file: LeftFile, folder: Path) -> None:
    path = folder / Path(file.name).name
    try:
        with path.open("wb") as copy:
            while (start := copy.tell()) < file.size_bytes:
                piece = answer_of(ray, host, worker.read.remote(file.name, start))
                if not (plain := zstandard.decompress(piece)):
                    break
                copy.write(plain)
    except OSError as cause:
        raise RunError(
            f"could not write {path}: {cause.strerror}",
            remedy="Free space on that disk, then run `ddbench sweep --resume`.",
        ) from cause
    answer_of(ray, host, worker.remove.remote(file.name))
