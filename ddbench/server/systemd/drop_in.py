"""Our override of a unit that somebody else wrote, in the runtime directory: gone with the boot.

The administrator's own files are never touched.
"""

from pathlib import Path

from ddbench.errors import ServerError
from ddbench.server.systemd.commands import Scope, systemctl
from ddbench.server.systemd.runtime_folder import runtime_directory

FILE_NAME = "zzzz-ddbench.conf"  # drop-ins are read in the order of their names; the last one wins
_HEADER = "# Written by ddbench for run "


def drop_in_path(scope: Scope, unit: str) -> Path:
    if scope == "system":
        return Path("/run/systemd/system", f"{unit}.d", FILE_NAME)
    return runtime_directory(scope) / "systemd" / "user" / f"{unit}.d" / FILE_NAME


def drop_in_run(scope: Scope, unit: str) -> str | None:
    """Which run our drop-in there belongs to; None when there is none."""
    try:
        first = drop_in_path(scope, unit).read_text(encoding="utf-8").partition("\n")[0]
    except FileNotFoundError:
        return None
    return first.removeprefix(_HEADER).split(",", 1)[0]


def write_drop_in(scope: Scope, unit: str, run: str, service_lines: list[str]) -> None:
    """Put `service_lines` into effect at the unit's next start. Raises ServerError."""
    path = drop_in_path(scope, unit)
    lines = [f"{_HEADER}{run}, removed at its end or by `ddbench sweep --resume`.", "[Service]"]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*lines, *service_lines, ""]), encoding="utf-8")
    except OSError as cause:
        raise ServerError(
            f"cannot write {path}: {cause.strerror}",
            remedy="Run ddbench as a user who may change that unit.",
        ) from cause
    systemctl(scope, "daemon-reload")


def remove_drop_in(scope: Scope, unit: str) -> None:
    path = drop_in_path(scope, unit)
    path.unlink(missing_ok=True)
    if path.parent.exists() and not any(path.parent.iterdir()):
        path.parent.rmdir()
    systemctl(scope, "daemon-reload")
