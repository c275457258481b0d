"""What else a sweep may use: systemd as a launcher, and patches for SGLang."""

import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from ddbench.server.doctor.capability import Capability

_USABLE = ("running", "degraded")  # degraded: some other unit failed


def systemd() -> Capability:
    """Which of systemd's two managers answers here; `launcher: systemd` needs one."""
    states = {
        "user manager": _manager_state("--user"),
        "system manager": _manager_state("--system"),
    }
    if any(state in _USABLE for state in states.values()):
        return Capability("systemd", states)
    return Capability(
        "systemd",
        states,
        ("a systemd manager that answers",),
        ("Use `launcher: subprocess` (the default); or log in through systemd.",),
    )


def patches() -> Capability:
    """The patch series that ddbench ships, by SGLang version."""
    package = Path(str(files("ddbench")))
    folders = (package / "patches", package.parent / "patches")  # installed, or in a checkout
    series = {version: names for folder in folders for version, names in _series(folder)}
    if series:
        return Capability("SGLang patches", series)
    return Capability(
        "SGLang patches",
        {},
        ("a patch series in this version of ddbench",),
        ("Use stock SGLang's algorithms.",),
    )


def _series(folder: Path) -> Iterator[tuple[str, str]]:
    for version in sorted(folder.glob("sglang-*")):
        if names := sorted(file.name for file in version.glob("*.patch")):
            yield version.name, ", ".join(names)


def _manager_state(which: str) -> str:
    """systemd's own word for its state, or why there is none."""
    try:
        answer = subprocess.run(
            ["systemctl", which, "is-system-running"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except FileNotFoundError:
        return "not installed"
    except (OSError, subprocess.TimeoutExpired) as cause:
        return f"no answer ({cause})"
    return answer.stdout.strip() or "unreachable"
