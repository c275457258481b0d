"""The folder of patched copies, and the lock that makes it safe under several processes."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ddbench.errors import PatchError

VARIABLE = "DDBENCH_CACHE_DIR"
BUILDING, REMOVED = ".building-", ".removed-"
"""Names of a copy that is not complete yet, and of one that is none any more, begin so."""
_LOCK = "lock"


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """$DDBENCH_CACHE_DIR/patched, else ddbench/patched in the user's cache folder (XDG)."""
    if own := environment.get(VARIABLE):
        return Path(own).expanduser().absolute() / "patched"
    xdg = environment.get("XDG_CACHE_HOME", "")
    folder = Path(xdg) if xdg.startswith("/") else Path("~/.cache").expanduser()
    return folder.absolute() / "ddbench" / "patched"


@contextmanager
def locked(cache: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Alone in the cache, among processes; waits for another one, and says so first.

    The lock ends with its process, however that ends. Raises PatchError where the cache cannot be
    written.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = (cache / _LOCK).open("a")
    except OSError as cause:
        raise not_writable(cache, cause) from cause
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that works in {cache}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as cause:  # some network disks have no locks
            raise not_writable(cache, cause) from cause
        yield


def remove_leftovers(cache: Path) -> None:
    """Of processes that were killed; with the lock held, nobody builds or removes now."""
    for beginning in (BUILDING, REMOVED):
        for folder in cache.glob(f"{beginning}*"):
            shutil.rmtree(folder, ignore_errors=True)


def not_writable(cache: Path, cause: OSError) -> PatchError:
    return PatchError(
        f"cannot write patched copies in {cache}: {cause}",
        remedy=f"Make room or give access there, or set ${VARIABLE} to another folder.",
    )
