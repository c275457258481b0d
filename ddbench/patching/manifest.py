"""What a patched copy is, written into it; and whether it still is that."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ddbench.errors import PatchError
from ddbench.patching.package_files import hashes
from ddbench.records import PATCH_MANIFEST


@dataclass(frozen=True, slots=True)
class Manifest:
    """installed_sha256: of every file of the package that was copied, before the patches."""

    series: str
    series_sha256: str
    sglang_version: str
    copied_from: str  # site-packages
    python: str
    installed_sha256: str
    patches: tuple[str, ...]
    made_at: str  # UTC, ISO 8601
    files: Mapping[str, str]  # path relative to the copy -> SHA-256, after the patches


def write_manifest(copy: Path, manifest: Manifest) -> None:
    (copy / PATCH_MANIFEST).write_text(json.dumps(asdict(manifest), indent=1) + "\n")


def read_manifest(copy: Path) -> Manifest:
    """Raises PatchError for a folder that is no complete copy."""
    try:
        said = json.loads((copy / PATCH_MANIFEST).read_text())
        return Manifest(**{**said, "patches": tuple(said["patches"])})
    except (OSError, ValueError, TypeError, KeyError) as cause:
        raise PatchError(
            f"{copy} is no patched copy: its {PATCH_MANIFEST} cannot be read ({cause})",
            remedy="Remove that folder.",
        ) from cause


def changed_files(copy: Path, manifest: Manifest) -> list[str]:
    """What was done to the copy since it was made, a line a file; [] when nothing was."""
    found = hashes(copy)
    lines = []
    for path in sorted({*manifest.files, *found}):
        if path not in found:
            lines.append(f"{path} is missing")
        elif path not in manifest.files:
            lines.append(f"{path} was added")
        elif found[path] != manifest.files[path]:
            lines.append(f"{path} was changed")
    return lines


def require_unchanged(copy: Path, manifest: Manifest) -> None:
    """Raises PatchError, naming the first files that were changed."""
    if changed := changed_files(copy, manifest):
        shown = "; ".join(changed[:3]) + (f"; {len(changed) - 3} more" if changed[3:] else "")
        raise PatchError(
            f"the patched copy {copy} is not what it was: {shown}",
            remedy=f"Run `ddbench patch remove {manifest.series}`; it is then made anew.",
        )
