"""What a sweep does, one JSON object a line, for other programs (`ddbench sweep --events FILE`).

Every line has `event` and `at` (UTC). Units stand in the names; null is not measured.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path

from ddbench import events
from ddbench.errors import RunError
from ddbench.load.progress import Progress
from ddbench.records import Failure, RunResult, Trial

Fields = dict[str, object]


class EventLines:
    """Feed it the events of a sweep; each is on its way when `show` returns."""

    def __init__(self, stream: FileIO) -> None:
        self._stream = stream

    def show(self, event: events.Event) -> None:
        name, fields = _described(event)
        self.write(name, fields)

    def write(self, name: str, fields: Fields) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"event": name, "at": at, **fields}) + "\n"
        try:
            self._stream.write(line.encode())
        except OSError as cause:
            raise RunError(
                f"cannot write events: {cause.strerror}",
                remedy="Give --events a file that can take them, and go on with --resume.",
            ) from cause


@contextmanager
def event_lines(where: str | None) -> Iterator[EventLines | None]:
    """Lines added to the file `where`, or on stderr for "-"; None when nobody wants them."""
    if where is None:
        yield None
    elif where == "-":
        with FileIO(sys.stderr.fileno(), "w", closefd=False) as stream:
            yield EventLines(stream)
    else:
        with _opened(Path(where)) as stream:
            yield EventLines(stream)


def _opened(path: Path) -> FileIO:
    try:
        return path.open("ab", buffering=0)
    except OSError as cause:
        raise RunError(
            f"cannot write events to {path}: {cause.strerror}",
            remedy="Give --events a file that you may write to, or - for stderr.",
        ) from cause


def _described(event: events.Event) -> tuple[str, Fields]:
    match event:
        case events.PassStarted(trials):
            return "pass_started", {"trials": len(trials)}
        case events.OnHost(host, on_host):
            name, fields = _described(on_host)
            return name, {"host": host, **fields}
        case events.LaunchStarted(arm):
            return "launch_started", {"arm": arm}
        case events.LaunchEnded(launch):
            failure = _failure(launch.failure)
            return "launch_ended", {"startup_s": launch.startup_s, "failure": failure}
        case events.TrialStarted(trial):
            return "trial_started", _trial(trial)
        case events.TrialSpared(trial):
            return "trial_spared", _trial(trial)
        case events.TrialEnded(result):
            return "trial_ended", {**_trial(result.trial), **_result(result)}
        case Progress(done, failed, total, tokens, elapsed_s):
            return "progress", {
                "done": done,
                "failed": failed,
                "total": total,
                "tokens": tokens,
                "elapsed_s": elapsed_s,
            }


def _trial(trial: Trial) -> Fields:
    return {
        "arm": trial.arm,
        "concurrency": trial.load.concurrency,
        "rate_per_s": trial.load.rate_per_s,
        "repeat": trial.repeat,
        "visit": trial.visit,
    }


def _result(result: RunResult) -> Fields:
    return {
        "key": result.key,
        "completed": len(result.completed),
        "requests": len(result.requests),
        "tokens": sum(request.completion_tokens for request in result.completed),
        "wall_s": result.wall_s,
        "failure": _failure(result.failure),
    }


def _failure(failure: Failure | None) -> Fields | None:
    if failure is None:
        return None
    return {
        "class": failure.crash_class,
        "evidence": failure.evidence,
        "advice": failure.advice,
    }
