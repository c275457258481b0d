"""A unit measured as it runs: nothing is started, stopped or changed; its journal is its log."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from ddbench.errors import ServerError
from ddbench.records import RunningServer, ServerCommand
from ddbench.server import die_with_parent
from ddbench.server.redact import redact_log, secret_values
from ddbench.server.systemd.cgroup import members
from ddbench.server.systemd.commands import Scope
from ddbench.server.systemd.ready_unit import url_when_ready
from ddbench.server.systemd.unit_state import read_unit_state

JOURNAL_LAG_S = 0.5  # journald tells its readers of new lines every 250 ms, where it gets a CPU
_OURS = ("--host", "--port", "--enable-metrics", "--max-running-requests")


@contextmanager
def observed_unit(
    command: ServerCommand,
    *,
    scope: Scope,
    unit: str,
    host: str,
    port: int,
    log_path: Path,
    expected_model: str | None,
    ready_timeout_s: float,
) -> Iterator[RunningServer]:
    """Yield the unit's server when it runs with the flags of `command`, whatever others it has.

    Raises ServerError when it does not run, or runs with other flags.
    """
    state = read_unit_state(scope, unit)
    if state.active_state != "active" or state.main_pid is None:
        raise ServerError(
            f"{unit} does not run ({state.shown()})",
            remedy="Start it, or write `allow: start` under systemd-unit in the sweep file.",
        )
    if missing := _missing_flags(command.argv, members(state.control_group)):
        raise ServerError(
            f"{unit} runs without {' '.join(missing)}",
            remedy="Write `allow: restart` under systemd-unit, so that ddbench may run it with "
            "the flags of each arm.",
        )
    log_path.touch()
    try:
        with _followed(unit, log_path):
            url = url_when_ready(
                scope,
                unit,
                host=host,
                port=port,
                log_path=log_path,
                expected_model=expected_model,
                timeout_s=ready_timeout_s,
            )
            yield RunningServer(
                base_url=url,
                pid=state.main_pid,
                log_path=log_path,
                startup_s=0.0,
                unit=unit,
                log_lag_s=JOURNAL_LAG_S,
            )
    finally:
        redact_log(log_path, secret_values())


def _missing_flags(argv: Sequence[str], pids: Sequence[int]) -> list[str]:
    """Flags of `argv`, with their values, that no process has; ddbench's own needs are no flags."""
    wanted = [flag for flag in _flags(argv) if flag[0] not in _OURS]
    least = wanted
    for pid in pids:
        with suppress(psutil.Error):
            has = _flags(psutil.Process(pid).cmdline())
            missing = [flag for flag in wanted if flag not in has]
            least = min(least, missing, key=len)
    return [" ".join(flag) for flag in least]


def _flags(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """Each flag with its values; `--flag=value` is two words, too."""
    flags: list[tuple[str, ...]] = []
    for word in argv:
        if word.startswith("--"):
            flags.append(tuple(word.split("=", 1)))
        elif flags:
            flags[-1] = (*flags[-1], word)
    return flags


@contextmanager
def _followed(unit: str, log_path: Path) -> Iterator[None]:
    """New lines of the unit's journal are appended to `log_path`."""
    wrapper = [sys.executable, "-I", "-S", die_with_parent.__file__, str(os.getpid())]
    follow = ["journalctl", "--follow", "--no-tail", f"--since=@{time.time():.6f}"]
    follow += ["--output=cat", "--all", "--quiet"]
    # the second is what journald calls the units of a user's manager
    units = [f"_SYSTEMD_UNIT={unit}", "+", f"_SYSTEMD_USER_UNIT={unit}"]
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            [*wrapper, *follow, *units],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait()
