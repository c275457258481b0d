"""Why a unit is no longer running, from what systemd says of it."""

import signal
from pathlib import Path

from ddbench.errors import ServerError, ServerExitedEarly, UnitEnded
from ddbench.server.log_tail import last_lines
from ddbench.server.systemd.unit_state import UnitState

CRASH_LOOP_RESTARTS = 3

_OWN_STATUS = range(200, 244)  # systemd.exec(5): the process was never executed
_MORE_MEMORY = "Raise `memory_max`, or lower --mem-fraction-static or the concurrency."
_READ_JOURNAL = "Read `journalctl --unit` and `systemctl status` of the unit."


def verdict(unit: str, state: UnitState, log_path: Path) -> ServerError | None:
    """The error that says why it ended; None while it runs, starting again once or twice included.

    To be asked before ddbench stops the unit itself.
    """
    # At its start limit systemd gives up, and keeps the result of the last failure.
    gave_up = state.active_state == "failed" and state.restarts > 0
    if state.restarts >= CRASH_LOOP_RESTARTS or gave_up or state.result == "start-limit-hit":
        return UnitEnded(
            unit,
            crash_class="crash_loop",
            evidence=f"systemd started it again and again: {state.shown()}",
            certain=True,
            remedy="Correct what ends the server each time; its log shows the same end repeatedly.",
        )
    if not state.is_over:
        return None
    if state.result == "oom-kill":
        return UnitEnded(
            unit,
            crash_class="oom_killed",
            evidence=f"out of memory: {state.shown()}",
            certain=True,
            remedy=_MORE_MEMORY,
        )
    if state.result in ("timeout", "watchdog", "protocol", "resources"):
        return UnitEnded(
            unit,
            crash_class=f"unit_{state.result}",
            evidence=state.shown(),
            certain=False,
            remedy=_READ_JOURNAL,
        )
    if state.exit_code == -signal.SIGKILL and state.memory_max is not None:
        return UnitEnded(
            unit,
            crash_class="oom_killed",
            evidence=f"probably out of memory: a SIGKILL not sent by ddbench: {state.shown()}",
            certain=False,
            remedy=_MORE_MEMORY,
        )
    if state.exit_code in _OWN_STATUS:
        return UnitEnded(
            unit,
            crash_class="unit_not_executed",
            evidence=f"systemd could not run it (see systemd.exec(5)): {state.shown()}",
            certain=True,
            remedy="Check the unit's user, folders and sandbox against the server's interpreter.",
        )
    return ServerExitedEarly(state.exit_code or 0, log_path, last_lines(log_path))
