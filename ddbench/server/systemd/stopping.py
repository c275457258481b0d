"""End a unit with all of its processes."""

import signal
import time
from contextlib import suppress

from ddbench.errors import ServerError, ServerSurvived
from ddbench.server.process_tree import signals_held
from ddbench.server.systemd.cgroup import members
from ddbench.server.systemd.commands import Scope, systemctl
from ddbench.server.systemd.unit_state import read_unit_state

POLL_INTERVAL_S = 0.1
KILL_WAIT_S = 15.0
UNKNOWN_GRACE_S = 300.0  # more than twice the 90 s that systemd gives a unit by default


def stop_unit(scope: Scope, unit: str, *, within_s: float = UNKNOWN_GRACE_S) -> None:
    """Returns when no process of the unit lives; systemd sends SIGTERM, then SIGKILL, to all.

    After `within_s`, and at an interruption (Ctrl-C), everything gets SIGKILL at once.
    Raises ServerSurvived when that was not enough.
    """
    state = read_unit_state(scope, unit)
    group = state.control_group
    if not state.is_loaded:
        return
    try:
        _ask_to_stop(scope, unit)
        is_gone = _wait_until_gone(scope, unit, group, within_s)
    except BaseException:
        with signals_held():
            _kill(scope, unit, group)
        raise
    if not is_gone:
        _kill(scope, unit, group)


def _ask_to_stop(scope: Scope, unit: str) -> None:
    try:
        systemctl(scope, "stop", "--no-block", unit)
    except ServerError:
        if read_unit_state(scope, unit).is_loaded:  # else it was collected while we asked
            raise


def _wait_until_gone(scope: Scope, unit: str, group: str, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        state = read_unit_state(scope, unit)
        if state.active_state in ("inactive", "failed") and not members(group):
            return True
        time.sleep(POLL_INTERVAL_S)
    return False


def _kill(scope: Scope, unit: str, group: str) -> None:
    with suppress(ServerError):  # nothing left that could be killed
        systemctl(scope, "kill", f"--signal={signal.SIGKILL.name}", unit)
    _ask_to_stop(scope, unit)
    if not _wait_until_gone(scope, unit, group, KILL_WAIT_S):
        raise ServerSurvived(members(group))
