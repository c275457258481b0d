"""Make a patched copy of an installed SGLang, or find the one that was made before.

Its name holds a hash of the series and of every installed file, so another series or another
installation is another copy. It is built beside its place and moved there when it is complete.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from ddbench.errors import PatchError
from ddbench.patching.cache import (
    BUILDING,
    cache_folder,
    locked,
    not_writable,
    remove_leftovers,
)
from ddbench.patching.installed import Installed, find_installed, require_found
from ddbench.patching.manifest import (
    Manifest,
    read_manifest,
    require_unchanged,
    write_manifest,
)
from ddbench.patching.package_files import copy_package, digest_of, hashes
from ddbench.patching.series import Series, series_for

_COMPILE_TIMEOUT_S = 1800.0
_MANY = 100  # files to compile that are worth several processes


@dataclass(frozen=True, slots=True)
class PatchedCopy:
    """`folder` holds sglang/ and goes on PYTHONPATH."""

    folder: Path
    manifest: Manifest


def nothing_said(_line: str) -> None:
    pass


def apply_series(
    name: str,
    python: str,
    *,
    cache: Path | None = None,
    env: Mapping[str, str] | None = None,
    say: Callable[[str], None] = nothing_said,
) -> PatchedCopy:
    """The copy of the SGLang of `python` with series `name`; made now, if it is not there.

    Args:
        cache: where copies are; by default the user's cache folder.
        env: what the server's process gets besides our own variables.
        say: told what takes long.

    Raises PatchError, naming the file, for another version, a file that is not as SGLang ships it,
    a patch that does not fit, and a copy that somebody changed. The installation is only read.
    """
    cache = cache_folder() if cache is None else cache.absolute()
    installed = find_installed(python, env=env)
    series = series_for(name, installed.version)
    series.result(installed.site_packages)  # refuses before anything is copied
    with locked(cache, say):
        remove_leftovers(cache)
        before = digest_of(hashes(installed.site_packages))
        folder = cache / copy_name(series, before)
        try:
            if not folder.exists():
                say(f"copying {installed.package} and applying {series.name} to the copy")
                _build(folder, series, installed, before, say)
        except OSError as cause:
            raise not_writable(cache, cause) from cause
        manifest = read_manifest(folder)
        require_unchanged(folder, manifest)
    require_found(python, folder, env={**(env or {}), "PYTHONPATH": on_path(folder, env)})
    return PatchedCopy(folder, manifest)


def copy_name(series: Series, installed_sha256: str) -> str:
    key = sha256(f"{series.sha256}\0{installed_sha256}".encode()).hexdigest()
    return f"sglang-{series.sglang_version}-{Path(series.name).name}-{key[:16]}"


def on_path(folder: Path, env: Mapping[str, str] | None = None) -> str:
    """A PYTHONPATH with the copy before all that is on it."""
    path = {**os.environ, **(env or {})}.get("PYTHONPATH")
    return f"{folder}{os.pathsep}{path}" if path else str(folder)


def _build(
    folder: Path, series: Series, installed: Installed, before: str, say: Callable[[str], None]
) -> None:
    building = folder.with_name(f"{BUILDING}{folder.name}")
    try:
        copy_package(installed.package, building / "sglang")
        copied = hashes(building)
        if digest_of(copied) != before:
            raise PatchError(
                f"{installed.package} changed while it was copied",
                remedy="Try again when nothing is installed there.",
            )
        result = series.result(building)
        for path, content in result.items():
            _replace(building / path, content)
        _compile(installed.python, building, [path for path in result if result[path]], say)
        write_manifest(
            building,
            Manifest(
                series=series.name,
                series_sha256=series.sha256,
                sglang_version=series.sglang_version,
                copied_from=str(installed.site_packages),
                python=installed.python,
                installed_sha256=before,
                patches=tuple(patch.name for patch in series.patches),
                made_at=datetime.now(UTC).isoformat(timespec="seconds"),
                files=_after(copied, result),
            ),
        )
        building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _replace(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _after(copied: Mapping[str, str], result: Mapping[str, bytes | None]) -> dict[str, str]:
    """What the copy must hold, by the patches and not by what was written."""
    after = dict(copied)
    for path, content in result.items():
        after.pop(path, None)
        if content is not None:
            after[path] = sha256(content).hexdigest()
    return after


def _compile(python: str, copy: Path, patched: list[str], say: Callable[[str], None]) -> None:
    """Byte code for all of it, or three processes compile SGLang at each start of a server."""
    sources = [str(copy / path) for path in patched if path.endswith(".py")]
    done = _compileall(python, sources) if sources else None
    if done is not None and done.returncode != 0:
        raise PatchError(
            f"the patched SGLang is no valid Python: {(done.stdout + done.stderr).strip()[-500:]}",
            remedy="Correct the series.",
        )
    missing = len(list(copy.rglob("*.py"))) - len(list(copy.rglob("*.pyc")))
    if missing > _MANY:
        say(f"byte-compiling {missing} files")
    workers = "0" if missing > _MANY else "1"  # 0: one a core
    _compileall(python, ["-j", workers, str(copy)])  # what does not compile is a template


def _compileall(python: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [python, "-m", "compileall", "-q", *arguments],
            env={k: v for k, v in os.environ.items() if k != "PYTHONPYCACHEPREFIX"},
            capture_output=True,
            text=True,
            timeout=_COMPILE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise PatchError(
            f"{python} did not byte-compile the copy within {_COMPILE_TIMEOUT_S:.0f} s",
            remedy="Try again when the machine is less busy.",
        ) from cause
