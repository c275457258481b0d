"""A folder a unit, in memory: what its processes read, and what they leave about their end."""

import os
import shutil
from pathlib import Path

from ddbench.errors import ServerError
from ddbench.server.systemd.commands import Scope


def runtime_folder(scope: Scope, unit: str) -> Path:
    return runtime_directory(scope) / "ddbench" / unit


def runtime_directory(scope: Scope) -> Path:
    """Where a user's, or the machine's, files live until the next boot. Raises ServerError."""
    if scope == "system" and os.geteuid() == 0:
        return Path("/run")
    if directory := os.environ.get("XDG_RUNTIME_DIR"):
        return Path(directory)
    raise ServerError(
        "$XDG_RUNTIME_DIR is not set, so there is no private place for what a unit is told",
        remedy=f"Log in through systemd, or set it to /run/user/{os.geteuid()}.",
    )


def make_runtime_folder(scope: Scope, unit: str, *, private: bool) -> Path:
    """The unit's folder, empty. Not private: the unit's own user may read what is in it."""
    folder = runtime_folder(scope, unit)
    remove_runtime_folder(scope, unit)
    folder.parent.mkdir(mode=0o755, exist_ok=True)
    folder.mkdir(mode=0o700)
    if not private:
        folder.chmod(0o755)
    return folder


def remove_runtime_folder(scope: Scope, unit: str) -> None:
    folder = runtime_folder(scope, unit)
    if folder.exists():
        shutil.rmtree(folder)
    if folder.parent.exists() and not any(folder.parent.iterdir()):
        folder.parent.rmdir()


def write_private(path: Path, text: str) -> None:
    """A new file that only its owner may read, from its first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
