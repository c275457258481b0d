"""The folder on a host where the launches of one run write until the driver has fetched it all.

<scratch>/ddbench-<user>/<run>-<host>/     held by a lock while a worker lives
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from ddbench.errors import RunError
from ddbench.server.leftovers import stop_leftover_servers

VARIABLE = "DDBENCH_SCRATCH"
SPACE_NEEDED_BYTES = 2**20
DEATH_WAIT_S = 10.0
_LOCK = ".lock"


def run_name(folder: Path) -> str:
    """Of a run, on every host: two runs never share one, and a resumed run has the same again."""
    told = f"{os.uname().nodename}\0{folder.resolve()}"
    return sha256(told.encode()).hexdigest()[:16]


def scratch_folder(run: str, host: str) -> Path:
    """On this host; $DDBENCH_SCRATCH or the system's folder for such files holds it."""
    above = Path(os.environ.get(VARIABLE) or tempfile.gettempdir())
    return above / f"ddbench-{os.getuid()}" / f"{run}-{host}"


@contextmanager
def held(folder: Path) -> Iterator[Path]:
    """`folder`, made and locked. Raises RunError where it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as cause:
        raise RunError(
            f"cannot write to {folder}: {cause.strerror}",
            remedy=f"Free space there, or set ${VARIABLE} to another folder before `ray start`.",
        ) from cause
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # the worker before this one is ending
        yield folder
    finally:
        os.close(descriptor)


def require_space(folder: Path) -> None:
    """Raises RunError when so little is left that a log may lack lines."""
    if (free := shutil.disk_usage(folder).free) < SPACE_NEEDED_BYTES:
        raise RunError(
            f"the disk of {folder} is full ({free} bytes left): logs would lack lines",
            remedy=f"Free space there, or set ${VARIABLE} to another folder before `ray start`.",
        )


def clear(run: str) -> list[int]:
    """End the servers that workers of `run` left here, whichever host they were, and remove what
    they wrote; the process ids. A worker that lives keeps its folder and its server.

    Raises ServerSurvived.
    """
    stopped: list[int] = []
    above = scratch_folder(run, "").parent
    for folder in above.glob(f"{run}-*"):
        # two nodes of one machine both come here
        with suppress(FileNotFoundError), (folder / _LOCK).open("a") as lock:
            if _locked(lock.fileno()):
                stopped += stop_leftover_servers(folder)
                shutil.rmtree(folder)
    return stopped


def _locked(descriptor: int) -> bool:
    """False while a worker lives; one that was just killed is waited for."""
    deadline = time.monotonic() + DEATH_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        else:
            return True
