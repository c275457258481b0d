"""What a run has done to units, written down before it is done, so that anybody can undo it.

`units.jsonl` in the run folder, one step a line. The sweep undoes it at its end; after a kill -9
the next `--resume` does. Steps of another boot, or of another machine, are void: what we change
lives in memory only (transient units, drop-ins in the runtime directory).
"""

import json
import os
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from ddbench.errors import ServerError
from ddbench.server.systemd.commands import Scope, systemctl
from ddbench.server.systemd.drop_in import drop_in_run, remove_drop_in
from ddbench.server.systemd.runtime_folder import remove_runtime_folder
from ddbench.server.systemd.stopping import stop_unit
from ddbench.server.systemd.unit_state import read_unit_state

UNITS_NAME = "units.jsonl"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Step:
    """transient: a unit of ours may exist. existing: another's unit may be changed. undone: it
    no longer is."""

    kind: Literal["transient", "existing", "undone"]
    scope: Scope
    unit: str
    boot_id: str
    run: str  # as our drop-in names it
    was_active: bool = False  # existing only: before ddbench touched it


class UnitsFile:
    """The steps of one run, as its only writer."""

    def __init__(self, run_folder: Path) -> None:
        self._path = run_folder / UNITS_NAME
        self._boot_id = _BOOT_ID.read_text(encoding="ascii").strip()
        self.run = f"ddbench-{sha256(os.fsencode(run_folder.resolve())).hexdigest()[:10]}"

    def will_start(self, scope: Scope) -> str:
        """The name of a transient unit that is about to be started; no other run has it."""
        number = 1 + sum(step.kind == "transient" for step in self._steps())
        unit = f"{self.run}-{number}.service"
        self._write(Step("transient", scope, unit, self._boot_id, self.run))
        return unit

    def will_change(self, scope: Scope, unit: str) -> None:
        """Another's unit is about to be stopped or changed; its first state is what counts."""
        if any(step.unit == unit and step.scope == scope for step in self.pending()):
            return
        state = read_unit_state(scope, unit)
        was_active = state.active_state in ("active", "activating", "reloading")
        self._write(Step("existing", scope, unit, self._boot_id, self.run, was_active))

    def is_undone(self, scope: Scope, unit: str) -> None:
        self._write(Step("undone", scope, unit, self._boot_id, self.run))

    def pending(self) -> list[Step]:
        """What is not undone, in the order it was done."""
        left: dict[tuple[str, str], Step] = {}
        for step in self._steps():
            if step.boot_id != self._boot_id:
                continue
            if step.kind == "undone":
                left.pop((step.scope, step.unit), None)
            else:
                left[step.scope, step.unit] = step
        return list(left.values())

    def _steps(self) -> list[Step]:
        try:
            lines = self._path.read_text(encoding="utf-8").split("\n")[:-1]
        except FileNotFoundError:
            return []
        return [Step(**json.loads(line)) for line in lines if line]

    def _write(self, step: Step) -> None:
        """On disk when it returns. A line that a kill cut off was never acted on, and is ended."""
        with self._path.open("a+b") as file:
            file.seek(0)
            text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            file.truncate(len(whole))
            file.write(json.dumps(asdict(step)).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def stop_leftover_units(run_folder: Path) -> list[str]:
    """Undo what a run has done to units, and say what that was; nothing to do is no error.

    Transient units are stopped. An existing unit loses our drop-in and runs again, or does not, as
    before the run. Only the holder of the run's lock may call this.

    Raises ServerError where systemd refuses; the rest stays on record, and a further call tries it
    again.
    """
    if not (run_folder / UNITS_NAME).exists():
        return []
    units = UnitsFile(run_folder)
    done: list[str] = []
    for step in reversed(units.pending()):
        if step.kind == "transient":
            if read_unit_state(step.scope, step.unit).is_loaded:
                stop_unit(step.scope, step.unit)
                done.append(f"stopped {step.unit}")
            remove_runtime_folder(step.scope, step.unit)
        else:
            done += _restore(step)
        units.is_undone(step.scope, step.unit)
    return done


def _restore(step: Step) -> list[str]:
    done: list[str] = []
    if drop_in_run(step.scope, step.unit) == step.run:
        stop_unit(step.scope, step.unit)  # it runs what we told it
        remove_drop_in(step.scope, step.unit)
        done.append(f"removed the drop-in of {step.unit}")
    remove_runtime_folder(step.scope, step.unit)
    state = read_unit_state(step.scope, step.unit)
    if state.active_state == "failed":
        systemctl(step.scope, "reset-failed", step.unit)
    if step.was_active and state.active_state != "active":
        try:
            systemctl(step.scope, "start", step.unit)
        except ServerError as cause:
            raise ServerError(
                f"{step.unit} ran before this sweep, and does not start again: {cause}",
                remedy=f"Look at `systemctl --{step.scope} status {step.unit}`; its own files are "
                "as they were.",
            ) from cause
        done.append(f"started {step.unit} again")
    return done
