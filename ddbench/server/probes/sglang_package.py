"""The SGLang that the server's interpreter finds: version, content, and git state."""

import json
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypedDict

from ddbench.records import PATCH_MANIFEST
from ddbench.server.probes.probe import NotKnown, Subject

_TIMEOUT_S = 60.0

# Runs in the server's interpreter. Finds packages without importing them: SGLang takes seconds.
_ASK = """
import importlib.metadata, importlib.util, json, platform
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
spec = importlib.util.find_spec("sglang")
print(json.dumps({
    "python": platform.python_version(),
    "folder": list(spec.submodule_search_locations)[0] if spec else None,
    "versions": {n: version(n) for n in (
        "sglang", "torch", "transformers", "sglang-kernel", "sgl-kernel", "flashinfer-python",
        "triton", "ddbench")},
}))
"""


class _Said(TypedDict):
    python: str
    folder: str | None
    versions: dict[str, str | None]


def package(subject: Subject) -> dict[str, str]:
    """Versions of what serves, and a hash over every Python file of the sglang package."""
    said = _ask(subject)
    facts = {"server.python": said["python"]}
    facts |= {f"{name}.version": v for name, v in said["versions"].items() if v}
    if said["folder"] is None:
        raise NotKnown(f"{subject.config.python} has no sglang package")
    facts |= {"sglang.package_sha256": _package_sha256(said["folder"])}
    return facts | _patches(Path(said["folder"]).parent)


def git_checkout(subject: Subject) -> dict[str, str]:
    """Commit of the checkout that SGLang runs from, and a hash of its uncommitted changes.

    Nothing when the package is not tracked by git, however deep inside some repository it lies.
    """
    folder = _ask(subject)["folder"]
    if folder is None:
        raise NotKnown(f"{subject.config.python} has no sglang package")
    if _git(folder, "ls-files", "--error-unmatch", "__init__.py") is None:
        return {}
    if (commit := _git(folder, "rev-parse", "HEAD")) is None:
        raise NotKnown("the checkout has no commit")
    changes = _git(folder, "diff", "HEAD", "--", ".") or b""
    return {
        "sglang.git_commit": commit.decode().strip(),
        "sglang.git_dirty_sha256": sha256(changes).hexdigest() if changes else "clean",
    }


def _patches(folder: Path) -> dict[str, str]:
    """Of a patched copy: which series it has. Nothing for an installation of SGLang itself."""
    try:
        made = json.loads((folder / PATCH_MANIFEST).read_text())
    except FileNotFoundError:
        return {}
    return {
        "patches.series": made["series"],
        "patches.sha256": made["series_sha256"],
        "patches.copied_sha256": made["installed_sha256"],
    }


def _ask(subject: Subject) -> _Said:
    if subject.config.python is None:
        raise NotKnown("no interpreter of the server is known")
    answer = subprocess.run(
        [subject.config.python, "-c", _ASK],
        capture_output=True,
        env=dict(subject.env) or None,
        timeout=_TIMEOUT_S,
        text=True,
    )
    if answer.returncode != 0:
        raise NotKnown(f"{subject.config.python} failed: {answer.stderr.strip()[-300:]}")
    said: _Said = json.loads(answer.stdout)
    return said


@cache  # once a sweep: a package that changes under a running sweep is seen at the next
def _package_sha256(folder: str) -> str:
    digest = sha256()
    for file in sorted(Path(folder).rglob("*.py")):
        digest.update(f"{file.relative_to(folder)}\0".encode())
        digest.update(sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _git(folder: str, *arguments: str) -> bytes | None:
    """What git prints; None when it refuses. Raises NotKnown without git."""
    try:
        answer = subprocess.run(
            ["git", "-C", folder, *arguments], capture_output=True, timeout=_TIMEOUT_S
        )
    except FileNotFoundError as cause:
        raise NotKnown("git is not installed") from cause
    return answer.stdout if answer.returncode == 0 else None
