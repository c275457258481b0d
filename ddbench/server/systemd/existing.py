"""A server in a unit that an administrator wrote, run with the flags of a sweep for a while.

Our drop-in replaces the command and keeps the rest: user, sandbox, limits, slice, restart policy.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ddbench.errors import ServerError
from ddbench.records import RunningServer, ServerCommand
from ddbench.server.ports import require_free
from ddbench.server.redact import redact_log, secret_values
from ddbench.server.running import require_program
from ddbench.server.systemd import keeper
from ddbench.server.systemd.commands import Scope, systemctl
from ddbench.server.systemd.drop_in import write_drop_in
from ddbench.server.systemd.kept_process import server_pid
from ddbench.server.systemd.ready_unit import url_when_ready
from ddbench.server.systemd.runtime_folder import make_runtime_folder
from ddbench.server.systemd.stopping import stop_unit
from ddbench.server.systemd.undo import UnitsFile
from ddbench.server.systemd.unit_text import command_line, environment_lines, in_file


@contextmanager
def driven_unit(
    command: ServerCommand,
    *,
    scope: Scope,
    unit: str,
    host: str,
    port: int,
    log_path: Path,
    run_folder: Path,
    expected_model: str | None,
    ready_timeout_s: float,
) -> Iterator[RunningServer]:
    """Stop the unit, start it with `command`, yield it, stop it.

    The drop-in stays for the next launch: `stop_leftover_units` puts everything back.

    Raises ServerError where systemd refuses, and as transient_server.
    """
    require_program(command)
    units = UnitsFile(run_folder)
    units.will_change(scope, unit)
    log_path.touch(mode=0o644)
    try:
        stop_unit(scope, unit)
        require_free(host, port)
        write_drop_in(scope, unit, units.run, _service_lines(scope, unit, command, log_path))
        _require_our_command(scope, unit)
        started_at = time.monotonic()
        with suppress(ServerError):  # it had not failed
            systemctl(scope, "reset-failed", unit)
        systemctl(scope, "start", "--no-block", unit)
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
            stop_unit(scope, unit)
        finally:
            redact_log(log_path, secret_values())


def _service_lines(scope: Scope, unit: str, command: ServerCommand, log_path: Path) -> list[str]:
    """The unit's user must be able to read keeper.py, and can run the server's interpreter."""
    folder = make_runtime_folder(scope, unit, private=False)
    kept = folder / Path(keeper.__file__).name
    shutil.copyfile(keeper.__file__, kept)
    kept.chmod(0o644)
    interpreter = shutil.which(command.argv[0]) or command.argv[0]
    argv = (interpreter, "-I", "-S", str(kept), interpreter, *command.argv[1:])
    return [
        "Type=exec",
        "ExecStart=",
        f"ExecStart={in_file(command_line(argv))}",
        "KillMode=control-group",
        f"StandardError={in_file(f'append:{log_path.resolve()}')}",
        *environment_lines(command.env),
    ]


def _require_our_command(scope: Scope, unit: str) -> None:
    """Another drop-in may be read after ours, and would be measured under our name."""
    shown = systemctl(scope, "show", unit, "--property=ExecStart")
    if f"/{unit}/{Path(keeper.__file__).name}" not in shown:
        raise ServerError(
            f"another drop-in of {unit} overrides ExecStart= after ours",
            remedy=f"Look at `systemctl --{scope} cat {unit}`, and rename the one that is last.",
        )
