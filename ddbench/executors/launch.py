"""One launch on this machine: start the server, take its fingerprint, lend it, end it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ddbench.draft_records import SUFFIX
from ddbench.errors import ServerError
from ddbench.executors.executor import LaunchJob
from ddbench.executors.measure import measure
from ddbench.load.dialogue import read_api_key
from ddbench.load.progress import Progress
from ddbench.load.run import Send, run_load
from ddbench.patching.launch import with_patches
from ddbench.plan.argv import server_command
from ddbench.records import (
    Environment,
    Launch,
    LoadConfig,
    RunningServer,
    RunResult,
    ServerCommand,
    Trial,
)
from ddbench.server.crash import classify
from ddbench.server.environment import probe_environment
from ddbench.server.launchers import lend_server
from ddbench.server.ports import free_port
from ddbench.server.running import attached_server, is_alive
from ddbench.server.sglang_flags import require_known_flags


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A LaunchedServer. running: None where it did not start.

    steady: the warm-up rate of this launch at each load that it has served.
    """

    job: LaunchJob
    launch: Launch
    running: RunningServer | None
    steady: dict[LoadConfig, float] = field(default_factory=dict)
    send: Send = run_load

    def measure(self, trial: Trial, on_progress: Callable[[Progress], None]) -> RunResult:
        assert self.running is not None
        return measure(trial, self.job, self.running, self.steady, on_progress, self.send)

    def is_alive(self) -> bool:
        return self.running is not None and is_alive(self.running)


@contextmanager
def launched(job: LaunchJob, send: Send = run_load) -> Iterator[LocalServer]:
    """The server of `job`, started when entered and ended when left; or why it did not start.

    send: who sends the loads.

    Raises ServerSurvived when a server that was ready
    cannot be ended: nothing else may be started beside it.
    """
    server, log_path = job.server, job.log_path
    key = read_api_key(job.first.load)  # before a start that may take minutes
    launch = Launch(server, (), log_path.name, None, Environment({}, {}), None)
    try:
        port = server.port or free_port(server.host)
        drafts = log_path.with_suffix(SUFFIX) if server.record_drafts else None
        command = None
        if server.engine != "attach":
            command = with_patches(server_command(server, port=port, record_to=drafts), server)
            launch = replace(launch, argv=command.argv)
        with _lent(job, command, port) as running:
            if drafts is not None:
                _require_recording(drafts)
            env = dict(command.env) if command is not None else None
            environment = probe_environment(running.base_url, server, env=env, api_key=key)
            launch = replace(launch, startup_s=running.startup_s, environment=environment)
            yield LocalServer(job, launch, running, send=send)
    except ServerError as error:
        if launch.startup_s is not None:
            raise
        seen = log_path if log_path.exists() else str(error)
        launch = replace(launch, failure=classify(seen, error))
    else:
        return
    yield LocalServer(job, launch, None)


def _lent(
    job: LaunchJob, command: ServerCommand | None, port: int
) -> AbstractContextManager[RunningServer]:
    """The server of one launch, started when entered; no command: someone else runs it."""
    server = job.server
    if command is None:
        assert server.base_url is not None
        return attached_server(server.base_url)
    if server.engine == "sglang":
        require_known_flags(command.argv, env=command.env)
    folder = job.log_path.parent
    return lend_server(command, server, port=port, log_path=job.log_path, run_folder=folder)


def _require_recording(path: Path) -> None:
    """A server that records has begun its file before it is ready."""
    if not path.exists():
        raise ServerError(
            f"the server is ready, and did not begin {path.name}: it records no drafts",
            remedy="SGLang 0.5.23 does with ddbench installed beside it; see the server's log.",
        )
