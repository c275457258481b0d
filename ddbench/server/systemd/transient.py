"""A server as a transient unit: systemd starts it, limits it, keeps its journal, and forgets it.

Its process tree:  keeper.py (the unit's main process) - the server - its workers
"""

import json
import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from ddbench.records import RunningServer, ServerCommand
from ddbench.server.ports import require_free
from ddbench.server.redact import redact_argv, redact_log, secret_values
from ddbench.server.running import require_program
from ddbench.server.systemd import keeper
from ddbench.server.systemd.commands import Scope, run
from ddbench.server.systemd.kept_process import server_pid
from ddbench.server.systemd.last_words import recording_command
from ddbench.server.systemd.limits import require_memory_limit
from ddbench.server.systemd.ready_unit import require_not_ended, url_when_ready
from ddbench.server.systemd.runtime_folder import (
    make_runtime_folder,
    remove_runtime_folder,
    write_private,
)
from ddbench.server.systemd.stopping import stop_unit
from ddbench.server.systemd.undo import UnitsFile
from ddbench.server.systemd.unit_state import read_unit_state
from ddbench.server.systemd.unit_text import command_line, expanded_later

DEFAULT_STOP_S = 20.0


@contextmanager
def transient_server(
    command: ServerCommand,
    options: Mapping[str, str],
    *,
    host: str,
    port: int,
    log_path: Path,
    run_folder: Path,
    expected_model: str | None,
    ready_timeout_s: float,
) -> Iterator[RunningServer]:
    """As running_server, in a unit that is named after the run and gone at the end.

    Raises ServerError where systemd refuses or a limit would not hold, UnitEnded and the errors of
    running_server where the server does not start.
    """
    require_free(host, port)
    require_program(command)
    scope = cast(Scope, options.get("scope", "user"))
    stop_s = float(options.get("timeout_stop_s", DEFAULT_STOP_S))
    started_at = time.monotonic()
    units = UnitsFile(run_folder)
    unit = units.will_start(scope)
    log_path.touch()
    try:
        run(_systemd_run(unit, scope, command, options, log_path, stop_s))
        require_not_ended(scope, unit, log_path)
        require_memory_limit(scope, unit)
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
            pid=server_pid(scope, unit),
            log_path=log_path,
            startup_s=time.monotonic() - started_at,
            unit=unit,
        )
    finally:
        try:
            _end(units, scope, unit, within_s=3 * stop_s)
        finally:
            redact_log(log_path, secret_values())


def _end(units: UnitsFile, scope: Scope, unit: str, within_s: float) -> None:
    """A unit that outlives this, for whatever reason, stays on record."""
    try:
        stop_unit(scope, unit, within_s=within_s)
    finally:
        if read_unit_state(scope, unit).active_state in ("inactive", "failed"):
            remove_runtime_folder(scope, unit)
            units.is_undone(scope, unit)


def _systemd_run(
    unit: str,
    scope: Scope,
    command: ServerCommand,
    options: Mapping[str, str],
    log_path: Path,
    stop_s: float,
) -> list[str]:
    """The whole command; what the server's environment holds is not in it."""
    folder = make_runtime_folder(scope, unit, private=True)
    environment = folder / "environment.json"
    write_private(environment, json.dumps({**os.environ, **command.env}))
    properties = {
        "Description": f"ddbench: {shlex.join(redact_argv(command.argv))}",
        "KillMode": "control-group",
        "TimeoutStopSec": f"{stop_s:g}",
        "WorkingDirectory": str(Path.cwd()),
        "UMask": _umask(),
        "StandardInput": "null",
        "StandardOutput": "journal",  # keeper.py copies the log there
        "StandardError": f"append:{log_path.resolve()}",
        "ExecStopPost": command_line(recording_command(folder, options.get("memory_max"))),
    }
    for option, name in (("memory_max", "MemoryMax"), ("cpu_affinity", "CPUAffinity")):
        if option in options:
            properties[name] = options[option]
    if "memory_max" in options:
        properties["MemorySwapMax"] = "0"  # else the limit only makes the server slow
    words = ["systemd-run", f"--{scope}", f"--unit={unit}", "--collect", "--quiet"]
    words += ["--no-ask-password", "--service-type=exec"]
    words += [f"--property={name}={value}" for name, value in properties.items()]
    if "slice" in options:
        words.append(f"--slice={options['slice']}")
    if scope == "system" and os.geteuid() != 0:
        words += [f"--uid={os.geteuid()}", f"--gid={os.getegid()}"]
    kept = [sys.executable, "-I", "-S", keeper.__file__]
    kept += [
        "--environment",
        str(environment),
        "--owner",
        f"{_this_process()}:{unit}",
        *command.argv,
    ]
    return [*words, "--", *expanded_later(kept)]


def _this_process() -> str:
    """Our pid and its time of birth, which together no other process ever has."""
    return f"{os.getpid()}:{keeper.born(os.getpid())}"


def _umask() -> str:
    current = os.umask(0o077)
    os.umask(current)
    return f"{current:04o}"
