"""systemctl and systemd-run, asked as a program would ask: no pager, no colours, no password."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Literal

from ddbench.errors import ServerError

Scope = Literal["user", "system"]

TIMEOUT_S = 60.0
_USE_SUBPROCESS = "write `launcher: subprocess` in the sweep file"


def require_systemd(scope: Scope) -> None:
    """Raises ServerError, naming the plain launcher, where no manager of that scope answers."""
    for program in ("systemctl", "systemd-run"):
        if shutil.which(program) is None:
            raise ServerError(
                f"this machine has no {program}, so `launcher: systemd` cannot work here",
                remedy=f"Install systemd, or {_USE_SUBPROCESS}.",
            )
    asked = _asked(["systemctl", f"--{scope}", "is-system-running"])
    if asked.stdout.strip() not in ("running", "degraded", "starting", "initializing"):
        said = (asked.stderr.strip() or asked.stdout.strip() or "no answer").splitlines()[0]
        raise ServerError(
            f"no systemd {scope} manager answers here: {said}",
            remedy=(
                f"Log in so that $XDG_RUNTIME_DIR is set (`loginctl enable-linger` keeps the "
                f"manager), or {_USE_SUBPROCESS}."
                if scope == "user"
                else f"Use a machine that was booted with systemd, or {_USE_SUBPROCESS}."
            ),
        )


def systemctl(scope: Scope, *words: str, timeout_s: float = TIMEOUT_S) -> str:
    """What it prints. Raises ServerError with what it says when it fails or takes too long."""
    return run(["systemctl", f"--{scope}", *words], timeout_s=timeout_s)


def run(command: Sequence[str], *, timeout_s: float = TIMEOUT_S) -> str:
    asked = _asked(command, timeout_s=timeout_s)
    if asked.returncode != 0:
        said = asked.stderr.strip() or f"exit status {asked.returncode}"
        raise ServerError(
            f"{' '.join(command[:3])} failed: {said}",
            remedy=f"Do what systemd says, or {_USE_SUBPROCESS}.",
        )
    return asked.stdout


def _asked(
    command: Sequence[str], *, timeout_s: float = TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """In a session of its own: the terminal's Ctrl-C is ours to answer, not systemctl's."""
    try:
        return subprocess.run(
            command,
            env={**os.environ, "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise ServerError(
            f"{' '.join(command[:3])} did not end within {timeout_s:.0f} s",
            remedy="Look at `systemctl list-jobs`: something there waits for something else.",
        ) from cause
