"""The files of a package: listed, hashed and copied. Byte code is nobody's source and is left out
of lists and hashes."""

import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest, sha256
from pathlib import Path

from ddbench.errors import PatchError

_BYTE_CODE = "__pycache__"
_THREADS = 4  # reading and hashing release the interpreter


def hashes(site_packages: Path, package: str = "sglang") -> dict[str, str]:
    """Path relative to site_packages -> SHA-256, for every file of the package.

    Raises PatchError, naming the file, for one that cannot be read.
    """
    paths = sorted(_files(site_packages / package))
    with ThreadPoolExecutor(_THREADS) as pool:
        digests = pool.map(_hash, paths)
        return {str(p.relative_to(site_packages)): d for p, d in zip(paths, digests, strict=True)}


def digest_of(hashed: Mapping[str, str]) -> str:
    """One hash of many: of the names and of the contents."""
    lines = (f"{path}\0{digest}\n" for path, digest in sorted(hashed.items()))
    return sha256("".join(lines).encode()).hexdigest()


def copy_package(source: Path, target: Path) -> None:
    """Every file anew, never a link: what is later done to the source must not change the copy.

    Times are kept, so that byte code that comes along stays valid. Everything becomes writable to
    the owner, whatever it was: a copy must be removable. Links are followed.
    """
    for folder, _, names in os.walk(source, followlinks=True):
        into = target / Path(folder).relative_to(source)
        into.mkdir(parents=True)
        for name in names:
            original, copied = Path(folder, name), into / name
            shutil.copyfile(original, copied)
            found = original.stat()
            copied.chmod(found.st_mode | 0o600)
            os.utime(copied, ns=(found.st_atime_ns, found.st_mtime_ns))


def _files(package: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(package, followlinks=True):
        folders[:] = [name for name in folders if name != _BYTE_CODE]
        yield from (Path(folder, name) for name in names)


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as cause:
        raise PatchError(
            f"cannot read {path}: {cause.strerror}",
            remedy="Give access to it, or remove it where it is no part of SGLang, as a link to "
            "nothing.",
        ) from cause
