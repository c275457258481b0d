"""End this process when the one that started it is gone, however that one ended.

A thread looks, because PR_SET_PDEATHSIG alone is not enough: it is lost when the parent ends before
it is set, and it fires when the *thread* that forked us ends. Whoever starts a server sets it, too.
"""

import os
import signal
import threading
import time

LOOK_INTERVAL_S = 0.25
GRACE_S = 5.0


def end_with_parent() -> None:
    """Does nothing for a process that init started: there is nobody to outlive."""
    if (parent := os.getppid()) != 1:
        threading.Thread(target=_watch, args=(parent,), name="parent-watch", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_INTERVAL_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.kill(os.getpid(), signal.SIGKILL)
