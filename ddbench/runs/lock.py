"""One writer a run folder. The kernel drops the lock with the process, however it dies."""

import fcntl
import os
from pathlib import Path

from ddbench.errors import RunError

LOCK_NAME = ".lock"


def lock_folder(folder: Path) -> int:
    """Return the file descriptor that holds the folder's lock; closing it gives the lock back.

    Raises RunError when another process holds it. The file stays: removing it would let a third
    process lock a file that nobody else can see.
    """
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as cause:
        os.close(descriptor)
        raise RunError(
            f"another ddbench is writing to {folder}",
            remedy="Wait for it to end, or give this sweep another --out folder.",
        ) from cause
    return descriptor
