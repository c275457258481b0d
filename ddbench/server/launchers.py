"""Who starts a server: a plain subprocess, a transient unit of systemd, or a unit that exists."""

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import cast

from ddbench.errors import ServerError
from ddbench.records import RunningServer, ServerCommand, ServerConfig
from ddbench.server.ports import require_free
from ddbench.server.running import running_server
from ddbench.server.systemd import why
from ddbench.server.systemd.commands import Scope, require_systemd
from ddbench.server.systemd.drop_in import drop_in_run
from ddbench.server.systemd.existing import driven_unit
from ddbench.server.systemd.observed import observed_unit
from ddbench.server.systemd.transient import transient_server
from ddbench.server.systemd.undo import stop_leftover_units
from ddbench.server.systemd.unit_state import read_unit_state

STATE_WAIT_S = 3.0
POLL_INTERVAL_S = 0.1


def require_launcher(config: ServerConfig) -> None:
    """Raises what can be known before anything starts: PortInUse, or a ServerError of systemd."""
    if config.launcher != "subprocess":
        require_systemd(_scope(config))
    if config.launcher == "systemd-unit":
        _require_unit(config)
    elif config.port is not None:
        require_free(config.host, config.port)


def lend_server(
    command: ServerCommand,
    config: ServerConfig,
    *,
    port: int,
    log_path: Path,
    run_folder: Path,
) -> AbstractContextManager[RunningServer]:
    """The server of `config`, started when entered and ended when left; errors as running_server.

    What is done to units is noted in `run_folder` first. An existing unit gets its own command back
    at the end of `units_restored`.
    """
    if config.launcher == "subprocess":
        return running_server(
            command,
            host=config.host,
            port=port,
            log_path=log_path,
            expected_model=command.model_path,
            ready_timeout_s=config.ready_timeout_s,
        )
    options = dict(config.launcher_options)
    if config.launcher == "systemd":
        return transient_server(
            command,
            options,
            host=config.host,
            port=port,
            log_path=log_path,
            run_folder=run_folder,
            expected_model=command.model_path,
            ready_timeout_s=config.ready_timeout_s,
        )
    if "allow" not in options:
        return observed_unit(
            command,
            scope=_scope(config),
            unit=options["name"],
            host=config.host,
            port=port,
            log_path=log_path,
            expected_model=command.model_path,
            ready_timeout_s=config.ready_timeout_s,
        )
    return driven_unit(
        command,
        scope=_scope(config),
        unit=options["name"],
        host=config.host,
        port=port,
        log_path=log_path,
        run_folder=run_folder,
        expected_model=command.model_path,
        ready_timeout_s=config.ready_timeout_s,
    )


@contextmanager
def units_restored(run_folder: Path) -> Iterator[None]:
    """At the end, on every path, units are as they were before the run."""
    try:
        yield
    finally:
        stop_leftover_units(run_folder)


def why_ended(server: RunningServer, config: ServerConfig) -> ServerError | None:
    """What the server's unit says of its end; None where there is no unit, or nothing is known.

    Waits a moment: a server's process is gone before its unit's state says so.
    """
    if server.unit is None or server.log_path is None:
        return None
    deadline = time.monotonic() + STATE_WAIT_S
    while time.monotonic() < deadline:
        if (error := why.why_ended(_scope(config), server.unit, server.log_path)) is not None:
            return error
        time.sleep(POLL_INTERVAL_S)
    return None


def _require_unit(config: ServerConfig) -> None:
    options, scope = dict(config.launcher_options), _scope(config)
    unit, allow = options["name"], options.get("allow")
    state = read_unit_state(scope, unit)
    is_active = state.active_state in ("active", "activating", "reloading")
    if not state.is_loaded:
        raise ServerError(
            f"there is no unit {unit} in the {scope} manager",
            remedy="Correct `name` or `scope` in the sweep file; `systemctl list-unit-files` "
            "shows what there is.",
        )
    if allow is None and not is_active:
        raise ServerError(
            f"{unit} does not run, and the sweep file does not allow to start it",
            remedy="Start it, or write `allow: start` under systemd-unit in the sweep file.",
        )
    if allow is None and config.port is None:
        raise ServerError(
            f"{unit} is measured as it runs, and the sweep file does not say on which port",
            remedy="Add `port:`, or `allow: restart` to let ddbench choose.",
        )
    if allow == "start" and is_active:
        raise ServerError(
            f"{unit} runs, and the sweep file only allows to start it",
            remedy="Stop it, or write `allow: restart` under systemd-unit in the sweep file.",
        )
    if allow is not None and scope == "system" and os.geteuid() != 0:
        raise ServerError(
            f"only root may change {unit} of the system manager",
            remedy="Run the sweep as root, or measure the unit as it runs: remove `allow`.",
        )
    if (run := drop_in_run(scope, unit)) is not None:
        raise ServerError(
            f"{unit} is driven by another run, {run}",
            remedy="Let it end, or run `ddbench sweep --resume` on its folder to put it right.",
        )


def _scope(config: ServerConfig) -> Scope:
    return cast(Scope, dict(config.launcher_options).get("scope", "user"))
