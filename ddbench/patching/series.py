"""A patch series: a folder `sglang-<version>` of patches, with the hashes of what they are for.

    patches/sglang-0.5.23/0001-what.patch ...    applied in the order of their names
    patches/sglang-0.5.23/base.sha256            of every file they change, as SGLang ships it

`ddtree` is the series that ddbench ships; any other name is a folder of the same layout.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from ddbench.errors import PatchError
from ddbench.patching.unified_diff import FileChange, applied, read_patch

SHIPPED = "ddtree"
BASE = "base.sha256"
_FOLDER = "sglang-"


@dataclass(frozen=True)
class Series:
    """`base` maps a path, relative to site-packages, to the SHA-256 of the file before."""

    name: str
    sglang_version: str
    folder: Path
    patches: tuple[Path, ...]
    base: Mapping[str, str]

    @cached_property
    def sha256(self) -> str:
        """Of all that decides what is applied: the patches in order, and what they are for."""
        digest = sha256(self.sglang_version.encode())
        for patch in self.patches:
            digest.update(f"\0{patch.name}\0".encode() + patch.read_bytes())
        for path, hashed in sorted(self.base.items()):
            digest.update(f"\0{path}\0{hashed}".encode())
        return digest.hexdigest()

    @cached_property
    def changes(self) -> Mapping[str, tuple[FileChange, ...]]:
        """By the name of the patch, in order."""
        return {patch.name: read_patch(patch) for patch in self.patches}

    def touched(self) -> tuple[str, ...]:
        """Every path that a patch names, sorted."""
        return tuple(sorted({c.path for changes in self.changes.values() for c in changes}))

    def result(self, site_packages: Path) -> dict[str, bytes | None]:
        """What the touched files become; None is a file that is not there afterwards.

        Nothing is written. Raises PatchError, naming the file, where one is not what the series
        was made for.
        """
        found = {path: _content(site_packages / path) for path in self.touched()}
        for path, content in found.items():
            self._require_base(path, content, site_packages)
        for patch, changes in self.changes.items():
            found |= applied(found, changes, patch)
        return found

    def _require_base(self, path: str, content: bytes | None, site_packages: Path) -> None:
        expected = self.base.get(path)
        actual = None if content is None else sha256(content).hexdigest()
        if actual == expected:
            return
        if expected is None:
            why = "exists, and the series would create it"
        elif actual is None:
            why = "is missing"
        else:
            why = f"is not as SGLang {self.sglang_version} ships it"
        raise PatchError(
            f"{site_packages / path} {why} (series {self.name})",
            remedy=f"Install sglang=={self.sglang_version} afresh, without other changes.",
        )


def shipped_folder() -> Path:
    """Where the shipped series are: in an installed ddbench, or in a checkout."""
    package = Path(str(files("ddbench")))
    installed = package / "patches"
    return installed if installed.is_dir() else package.parent / "patches"


def full_name(name: str) -> str:
    """A folder's name does not depend on where we are."""
    return SHIPPED if name == SHIPPED else str(Path(name).expanduser().absolute())


def available(name: str = SHIPPED) -> list[Series]:
    """The series of that name, one for each SGLang version it is there for.

    Raises PatchError when there is none.
    """
    name = full_name(name)
    root = shipped_folder() if name == SHIPPED else Path(name)
    found = [
        _read(name, folder)
        for folder in sorted(root.glob(f"{_FOLDER}*"))
        if any(folder.glob("*.patch"))
    ]
    if not found:
        raise PatchError(
            f"no patch series {name!r}: no patches in {root / (_FOLDER + '*')}",
            remedy=f"Write {SHIPPED}, or the path of a folder that has {_FOLDER}<version> folders.",
        )
    return found


def series_for(name: str, sglang_version: str) -> Series:
    """Raises PatchError when the series is not made for this version of SGLang."""
    found = available(name)
    for series in found:
        if series.sglang_version == sglang_version:
            return series
    versions = ", ".join(series.sglang_version for series in found)
    raise PatchError(
        f"patch series {name} is for SGLang {versions}, and {sglang_version} is installed",
        remedy="Install one of these versions, or leave the patches out.",
    )


def _read(name: str, folder: Path) -> Series:
    base = folder / BASE
    if not base.is_file():
        raise PatchError(
            f"{folder} has no {BASE}: what its patches are for is not known",
            remedy=f"Write it: `python -m ddbench.patching.base_hashes {folder} --python PYTHON`.",
        )
    return Series(
        name=name,
        sglang_version=folder.name.removeprefix(_FOLDER),
        folder=folder,
        patches=tuple(sorted(folder.glob("*.patch"))),
        base=_read_base(base),
    )


def _read_base(path: Path) -> dict[str, str]:
    """sha256sum's own format, so that `sha256sum --check` reads it too."""
    base: dict[str, str] = {}
    for line in path.read_text().splitlines():
        hashed, separator, name = line.partition("  ")
        if not separator or len(hashed) != 64:
            raise PatchError(
                f"{path} has a line that is not sha256sum's: {line!r}",
                remedy="Write it again with `python -m ddbench.patching.base_hashes`.",
            )
        base[name] = hashed
    return base


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
