"""The SGLang that an interpreter finds: its version and its folder, without importing it."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ddbench.errors import PatchError
from ddbench.records import PATCH_MANIFEST

_TIMEOUT_S = 60.0

_ASK = """
import importlib.metadata, importlib.util, json
try:
    version = importlib.metadata.version("sglang")
except importlib.metadata.PackageNotFoundError:
    version = None
spec = importlib.util.find_spec("sglang")
folders = list(spec.submodule_search_locations or ()) if spec else []
print("FOUND " + json.dumps({"version": version, "folder": folders[0] if folders else None}))
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """site_packages: the folder that holds sglang/, wherever that is."""

    python: str
    version: str
    site_packages: Path

    @property
    def package(self) -> Path:
        return self.site_packages / "sglang"


def find_installed(python: str, *, env: Mapping[str, str] | None = None) -> Installed:
    """The SGLang that `python` would import, with `env` added to our own environment.

    Raises PatchError when there is none, or it is one of our copies already.
    """
    found = _ask(python, env or {})
    if found["folder"] is None or found["version"] is None:
        raise PatchError(
            f"{python} has no SGLang to patch",
            remedy="Name the interpreter of an environment that has it.",
        )
    site_packages = Path(found["folder"]).parent
    if (site_packages / PATCH_MANIFEST).exists():
        raise PatchError(
            f"{python} already finds a patched copy, {site_packages}, by its PYTHONPATH",
            remedy="Unset PYTHONPATH: ddbench sets it for the servers that it starts.",
        )
    return Installed(python, found["version"], site_packages)


def require_found(python: str, folder: Path, *, env: Mapping[str, str]) -> None:
    """Raises PatchError unless `python`, with `env`, imports the copy in `folder`."""
    found = _ask(python, env)["folder"]
    if found is None or Path(found) != folder / "sglang":
        raise PatchError(
            f"{python} would import {found}, not the patched copy in {folder}",
            remedy="Look for a `sglang` folder in the current directory, and at PYTHONPATH.",
        )


def _ask(python: str, env: Mapping[str, str]) -> dict[str, str | None]:
    try:
        answer = subprocess.run(
            [python, "-c", _ASK],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as cause:
        raise PatchError(
            f"cannot run {python}: {cause.strerror}",
            remedy="Set --python, `python:` or $DDBENCH_SGLANG_PYTHON to the interpreter that has "
            "SGLang.",
        ) from cause
    except subprocess.TimeoutExpired as cause:
        raise PatchError(
            f"{python} did not answer within {_TIMEOUT_S:.0f} s",
            remedy="Try again when the machine is less busy.",
        ) from cause
    for line in answer.stdout.splitlines():
        if line.startswith("FOUND "):
            found: dict[str, str | None] = json.loads(line.removeprefix("FOUND "))
            return found
    said = answer.stderr.strip()[-300:] or "it printed nothing, as no Python interpreter would"
    raise PatchError(
        f"{python} failed: {said}",
        remedy="Set --python, `python:` or $DDBENCH_SGLANG_PYTHON to the interpreter that has "
        "SGLang.",
    )
