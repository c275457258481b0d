"""How a transient unit ended. systemd forgets it at its end (`--collect`), so the unit notes it."""

import signal
from pathlib import Path

from ddbench.server.systemd.unit_state import UnitState

_NAME = "ended"


def recording_command(folder: Path, memory_max: str | None) -> tuple[str, ...]:
    """For ExecStopPost=, where systemd says in three variables how the main process ended."""
    note = 'echo "$1|$SERVICE_RESULT|$EXIT_CODE|$EXIT_STATUS" > "$0"'
    return "/bin/sh", "-c", note, str(folder / _NAME), memory_max or ""


def last_words(folder: Path) -> UnitState | None:
    """What the unit noted; None when it noted nothing (yet)."""
    try:
        note = (folder / _NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    if not note.endswith("\n"):
        return None
    memory_max, result, code, status = note.rstrip("\n").split("|")
    exit_code = None
    if code:
        exit_code = int(status) if code == "exited" else -_signal_number(status)
    return UnitState(
        is_loaded=False,
        active_state="inactive" if result == "success" else "failed",
        sub_state="dead" if result == "success" else "failed",
        result=result,
        exit_code=exit_code,
        restarts=0,
        memory_max=memory_max or None,
    )


def _signal_number(name: str) -> int:
    return int(signal.Signals.__members__.get(f"SIG{name}", signal.SIGRTMIN))
