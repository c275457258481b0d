"""Every process that a server has started, wherever it went, and how to end them all.

All descend from the server's guard, orphans too. Should the guard have been killed, they are found
by three marks, since rude ones shed some: the server's process group, descent from a known member,
and a variable that children inherit (SGLang overwrites its own with a process title).
"""

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from ddbench.errors import ServerSurvived
from ddbench.server.guarded import GuardedServer

MARK = "DDBENCH_SERVER_ID"
POLL_INTERVAL_S = 0.1
KILL_WAIT_S = 15.0


class ProcessTree:
    """The processes of one server, without its guard."""

    def __init__(self, server: GuardedServer, mark: str) -> None:
        self._server = server
        self._mark = mark
        self._known: set[psutil.Process] = set()

    def look(self) -> list[psutil.Process]:
        """The living members, remembered from now on even if they lose their marks.

        Zombies do not count: they hold no memory, and in a container nobody may reap them.
        """
        guard = self._server.guard_pid
        everyone = [process for process in psutil.process_iter() if process.pid != guard]
        children = defaultdict(list)
        for process in everyone:
            with suppress(psutil.Error):
                children[process.ppid()].append(process)
        self._known |= {process for process in everyone if self._is_marked(process)}
        pending = [guard, self._server.pid, *(process.pid for process in self._known)]
        while pending:
            born = set(children.pop(pending.pop(), ())) - self._known
            self._known |= born
            pending += [process.pid for process in born]
        return [process for process in self._known if lives(process)]

    def end(self, grace_s: float) -> None:
        """SIGTERM, SIGKILL after `grace_s`; returns when none lives, so that their memory is free.

        The guard ends, too.

        An interruption of the grace (Ctrl-C) goes straight to SIGKILL and is raised afterwards.
        Raises ServerSurvived when SIGKILL was not enough.
        """
        try:
            self._signal(signal.SIGTERM)
            self._wait_until_gone(grace_s)
        finally:
            with signals_held():
                survivors = self._kill()
        if survivors:
            raise ServerSurvived(sorted(process.pid for process in survivors))

    def _kill(self) -> list[psutil.Process]:
        deadline = time.monotonic() + KILL_WAIT_S
        while survivors := self.look():  # again and again: a member may be forking
            self._signal(signal.SIGKILL)
            if time.monotonic() > deadline:
                return survivors
            time.sleep(POLL_INTERVAL_S)
        self._server.release()
        return []

    def _wait_until_gone(self, within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while self.look() and time.monotonic() < deadline:
            time.sleep(POLL_INTERVAL_S)

    def _signal(self, signum: signal.Signals) -> None:
        for process in self.look():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signum)

    def _is_marked(self, process: psutil.Process) -> bool:
        with suppress(ProcessLookupError):
            if os.getpgid(process.pid) == self._server.pid:
                return True
        with suppress(psutil.Error, OSError):  # another user's process, or one just gone
            return process.environ().get(MARK) == self._mark
        return False


def lives(process: psutil.Process) -> bool:
    """True while it can do anything; a zombie cannot."""
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


@contextmanager
def signals_held() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait until the block is done."""
    held = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
