"""Processes of a run whose ddbench was killed: found by proof, never by name, and stopped.

Every server that ddbench starts has a variable that names its run's folder; children inherit it. A
process that lost it (SGLang overwrites its variables with a title) still writes to its server's
log, in a session that ddbench founded. Nothing else is proof, and nothing else is touched.
"""

import os
import re
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import psutil

from ddbench.errors import ServerSurvived
from ddbench.server.process_tree import KILL_WAIT_S, MARK, POLL_INTERVAL_S, lives

_STDOUT, _STDERR = 1, 2


def new_mark(folder: Path) -> str:
    """What MARK is set to for one more server of the run in `folder`."""
    return f"{_prefix(folder)}{uuid.uuid4().hex}"


def stop_leftover_servers(folder: Path) -> list[int]:
    """Kill what is left of the servers of the run in `folder`; the process ids, sorted.

    Only the holder of the run's lock may call this: a server of a sweep under way is no leftover.

    Raises ServerSurvived when SIGKILL was not enough.
    """
    stopped: set[int] = set()
    deadline = time.monotonic() + KILL_WAIT_S
    while left := list(_leftovers(folder)):  # again and again: one may be forking
        if time.monotonic() > deadline:
            raise ServerSurvived(sorted(process.pid for process in left))
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
            stopped.add(process.pid)
        time.sleep(POLL_INTERVAL_S)
    return sorted(stopped)


def _prefix(folder: Path) -> str:
    return f"{sha256(os.fsencode(folder.resolve())).hexdigest()[:24]}-"


def _leftovers(folder: Path) -> Iterator[psutil.Process]:
    prefix = _prefix(folder)
    log = re.compile(re.escape(os.fspath(folder.resolve())) + r"/[^/]+\.log( \(deleted\))?")
    here = psutil.Process()
    ours = {here, *here.parents()}
    for process in psutil.process_iter():
        if process in ours or not lives(process):
            continue
        if _mark_of(process).startswith(prefix) or _is_in_session_of_server(process, log):
            yield process


def _mark_of(process: psutil.Process) -> str:
    with suppress(psutil.Error, OSError):  # another user's process, or one just gone
        return process.environ().get(MARK, "")
    return ""


def _is_in_session_of_server(process: psutil.Process, log: re.Pattern[str]) -> bool:
    """It appends its output to a server's log, and so does its session's leader, or that is dead.

    A user's own `... >> RUN/some.log` in a shell has the shell for a leader.
    """
    with suppress(psutil.Error, OSError):
        if not _appends_to(process.pid, log):
            return False
        session = os.getsid(process.pid)
        leader_lives = psutil.pid_exists(session) and lives(psutil.Process(session))
        return session != os.getsid(0) and (not leader_lives or _appends_to(session, log))
    return False


def _appends_to(pid: int, log: re.Pattern[str]) -> bool:
    for descriptor in (_STDOUT, _STDERR):
        of = Path(f"/proc/{pid}")
        if not log.fullmatch(os.fspath((of / f"fd/{descriptor}").readlink())):
            return False
        info = (of / f"fdinfo/{descriptor}").read_text(encoding="ascii")
        flags = next(line for line in info.splitlines() if line.startswith("flags:"))
        if not int(flags.split()[1], 8) & os.O_APPEND:
            return False
    return True
