"""The folder of patched copies, and the lock that makes it safe under several processes."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ddbench.errors import PatchError

VARIABLE = "DDBENCH_CACHE_DIR"
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
        yield


def not_writable(cache: Path, cause: OSError) -> PatchError:
    return PatchError(
        f"cannot make a copy in {cache}: {cause}",
        remedy=f"Make room or give access there, or set ${VARIABLE} to another folder.",
    )
