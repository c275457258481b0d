"""What systemd says of a unit."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass

from ddbench.server.systemd.commands import Scope, systemctl

PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "ExecMainCode",
    "ExecMainStatus",
    "NRestarts",
    "MainPID",
    "ControlGroup",
    "MemoryMax",
    "Job",
)

_KILLED = ("2", "3")  # waitid's CLD_KILLED and CLD_DUMPED; 1 is CLD_EXITED


@dataclass(frozen=True, slots=True)
class UnitState:
    """A service at one moment, in systemd's own words.

    exit_code is the main process's as in Python: negative for a signal; None while it runs, and
    before it ran. main_pid and memory_max are None where there is none.
    """

    is_loaded: bool
    active_state: str
    sub_state: str
    result: str
    exit_code: int | None
    restarts: int
    main_pid: int | None = None
    control_group: str = ""
    memory_max: str | None = None
    has_job: bool = False  # systemd is about to change its state

    @property
    def is_over(self) -> bool:
        """No process of it runs any more, or it is being ended, and nothing will start it again."""
        if self.active_state == "deactivating":
            return True
        return self.active_state in ("inactive", "failed") and not self.has_job

    def shown(self) -> str:
        """One line for people: what a verdict about the unit rests on."""
        said = [
            f"ActiveState={self.active_state}",
            f"SubState={self.sub_state}",
            f"Result={self.result}",
            f"NRestarts={self.restarts}",
        ]
        if self.exit_code is not None:
            said.insert(3, f"ExecMainStatus={_status_shown(self.exit_code)}")
        if self.memory_max is not None:
            said.append(f"MemoryMax={self.memory_max}")
        return " ".join(said)


def read_unit_state(scope: Scope, unit: str) -> UnitState:
    """Also of a unit that does not exist: then is_loaded is False. Raises ServerError."""
    output = systemctl(scope, "show", unit, f"--property={','.join(PROPERTIES)}")
    return parse_unit_state(dict(line.split("=", 1) for line in output.splitlines() if "=" in line))


def parse_unit_state(shown: Mapping[str, str]) -> UnitState:
    """From the lines of `systemctl show`, by name."""
    code, status = shown.get("ExecMainCode", "0"), int(shown.get("ExecMainStatus", "0"))
    exit_code = None if code == "0" else -status if code in _KILLED else status
    memory_max = shown.get("MemoryMax", "infinity")
    return UnitState(
        is_loaded=shown.get("LoadState") == "loaded",
        active_state=shown.get("ActiveState", "inactive"),
        sub_state=shown.get("SubState", "dead"),
        result=shown.get("Result", "success"),
        exit_code=exit_code,
        restarts=int(shown.get("NRestarts", "0")),
        main_pid=int(shown.get("MainPID", "0")) or None,
        control_group=shown.get("ControlGroup", ""),
        memory_max=None if memory_max == "infinity" else memory_max,
        has_job=shown.get("Job", "") not in ("", "0"),
    )


def _status_shown(exit_code: int) -> str:
    names = {int(each): each.name.removeprefix("SIG") for each in signal.Signals}
    return str(exit_code) if exit_code >= 0 else f"{-exit_code}/{names.get(-exit_code, '?')}"
