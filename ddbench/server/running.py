"""Start a server, lend it, and leave nothing behind.

The server gets a guard, which ends with ddbench and takes along whatever the server has forked, and
its own log file, so no full pipe can ever block it.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from ddbench.errors import ServerError, ServerExitedEarly
from ddbench.records import RunningServer, ServerCommand
from ddbench.server.guarded import GuardedServer
from ddbench.server.leftovers import new_mark
from ddbench.server.log_tail import last_lines
from ddbench.server.ports import base_url, require_free
from ddbench.server.process_tree import MARK, ProcessTree
from ddbench.server.readiness import is_ready, wait_until_ready
from ddbench.server.redact import redact_open_log, secret_values


@contextmanager
def running_server(
    command: ServerCommand,
    *,
    host: str,
    port: int,
    log_path: Path,
    expected_model: str | None,
    ready_timeout_s: float = 900.0,
    grace_s: float = 20.0,
) -> Iterator[RunningServer]:
    """Yield a server that generates text and says it serves `expected_model`; then end it.

    Output is appended to `log_path`; at the end secrets in it are overwritten, and offsets stay
    valid.

    Raises PortInUse before starting anything, ServerError for a program that cannot be run,
    ServerExitedEarly with the end of the log, ServerNotReady after `ready_timeout_s`;
    ServerSurvived if a process outlives SIGKILL, and in every other case none is left.
    """
    require_free(host, port)
    require_program(command)
    started_at = time.monotonic()
    mark = new_mark(log_path.parent)
    env = {**os.environ, **command.env, MARK: mark}
    with log_path.open("ab") as log:
        server = GuardedServer(command.argv, env=env, log=log)
        log_kept = log_path.open("r+b")  # this file, also when someone rotates it
    tree = ProcessTree(server, mark)

    def require_running() -> None:
        if (exit_code := server.exit_code()) is not None:
            raise ServerExitedEarly(exit_code, log_path, last_lines(log_path))

    try:
        url = base_url(host, port)
        wait_until_ready(
            require_running,
            url,
            expected_model=expected_model,
            log_path=log_path,
            timeout_s=ready_timeout_s,
        )
        yield RunningServer(
            base_url=url,
            pid=server.pid,
            log_path=log_path,
            startup_s=time.monotonic() - started_at,
        )
    finally:
        try:
            tree.end(grace_s)
        finally:
            with log_kept:
                redact_open_log(log_kept, secret_values())


def require_program(command: ServerCommand) -> None:
    """Raises ServerError when there is nothing to run."""
    if shutil.which(command.argv[0]) is None:
        raise ServerError(
            f"cannot run {command.argv[0]}: no such program",
            remedy="Correct `python:` in the sweep file, or $DDBENCH_SGLANG_PYTHON.",
        )


@contextmanager
def attached_server(url: str, *, ready_timeout_s: float = 30.0) -> Iterator[RunningServer]:
    """Yield a server that someone else runs. Nothing is started and nothing is stopped.

    Raises ServerError when it does not answer within `ready_timeout_s`.
    """
    started_at = time.monotonic()
    while not is_ready(url, None, timeout_s=ready_timeout_s):
        if time.monotonic() - started_at > ready_timeout_s:
            raise ServerError(
                f"no server answers at {url}/health_generate",
                remedy="Start it, or correct `base_url` in the sweep file.",
            )
        time.sleep(1.0)
    yield RunningServer(base_url=url, pid=None, log_path=None, startup_s=0.0)


def is_alive(server: RunningServer) -> bool:
    """True while the server's process runs; for one that someone else runs, while it answers."""
    if server.pid is None:
        return is_ready(server.base_url, None, timeout_s=5.0)
    try:
        return psutil.Process(server.pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
