"""The copies that are there: list them, see who uses them, remove them."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from ddbench.errors import PatchError
from ddbench.patching.cache import REMOVED, locked, not_writable, remove_leftovers
from ddbench.patching.manifest import changed_files, read_manifest
from ddbench.patching.package_files import digest_of, hashes
from ddbench.patching.patched_copy import PatchedCopy, nothing_said
from ddbench.patching.series import full_name, series_for
from ddbench.records import PATCH_MANIFEST


def copies(cache: Path, series: str | None = None) -> list[PatchedCopy]:
    """Those of one series, or all; in the order of their names. Raises as read_manifest does."""
    there = cache.absolute()  # as a server's PYTHONPATH has it
    folders = sorted(path.parent for path in there.glob(f"sglang-*/{PATCH_MANIFEST}"))
    found = [PatchedCopy(folder, read_manifest(folder)) for folder in folders]
    return [c for c in found if series is None or c.manifest.series == full_name(series)]


def what_changed(copy: PatchedCopy) -> list[str]:
    """Since the copy was made: in it, in what it was made of, in its series; a line a change."""
    made = copy.manifest
    changes = changed_files(copy.folder, made)
    source = Path(made.copied_from)
    if not (source / "sglang").is_dir():
        changes.append(f"{source / 'sglang'}, of which it was made, is gone")
    elif digest_of(hashes(source)) != made.installed_sha256:
        changes.append(f"{source / 'sglang'}, of which it was made, changed")
    if series_for(made.series, made.sglang_version).sha256 != made.series_sha256:
        changes.append(f"the series {made.series} changed")
    return changes


def users(copy: Path) -> list[int]:
    """Processes of ours that have the copy on their PYTHONPATH."""
    return [pid for pid, path in _python_paths() if str(copy) in path.split(os.pathsep)]


def remove(
    cache: Path, folders: list[Path], *, say: Callable[[str], None] = nothing_said
) -> list[Path]:
    """Remove these copies, and what killed processes left; returns those that were still there.

    Raises PatchError before anything is removed when a process uses one of them.
    """
    with locked(cache, say):
        remove_leftovers(cache)
        folders = [folder for folder in folders if folder.exists()]  # another one may remove too
        for folder in folders:
            if used_by := users(folder):
                raise PatchError(
                    f"{folder} is used by process {', '.join(map(str, used_by))}",
                    remedy="End that server first.",
                )
        for folder in folders:
            doomed = folder.with_name(f"{REMOVED}{folder.name}")
            try:
                folder.rename(doomed)  # nobody finds half a copy
                shutil.rmtree(doomed)
            except OSError as cause:
                raise not_writable(cache, cause) from cause
    return folders


def size_bytes(copy: Path) -> int:
    return sum(file.stat().st_size for file in copy.rglob("*") if file.is_file())


def _python_paths() -> Iterator[tuple[int, str]]:
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        try:
            yield process.pid, process.environ().get("PYTHONPATH", "")
        except (psutil.Error, OSError):  # of another user, or gone
            continue
