"""Run a server, and when ddbench is gone end all that descends from it, kill -9 included.

A program, not a module: `python -I -S guard.py COMMAND...`. Standard input is a socket to ddbench:
it closes when ddbench ends, however that comes, and takes a line when the server has started and
one when it has ended. Standard output and error are the server's log.

The kernel gives the server's orphans to this process, whatever session, group or variables they
made for themselves (PR_SET_CHILD_SUBREAPER). Only its own children are ever killed, and their
children become its own by that: a child's pid belongs to it until this process reaps it, so no
stranger can be hit. Should this process be killed itself, the server goes with it.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_KILL = int(signal.SIGKILL)
DDBENCH = 0
KILL_FOR_S = 60.0  # a driver may hold a dying process for long
LOOK_INTERVAL_S = 0.005
CANNOT_RUN = 127


def main() -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Not ignored, which the server would inherit. SGLang's workers send SIGQUIT to their parent.
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCHLD"):
        signal.signal(getattr(signal, name), lambda *_: None)
    bell, ringer = os.pipe()
    os.set_blocking(ringer, False)
    signal.set_wakeup_fd(ringer, warn_on_full_buffer=False)
    server = start(sys.argv[1:], libc)
    say(f"started {server}")
    watch(server, bell)
    end_children()


def start(command: list[str], libc: ctypes.CDLL) -> int:
    """The server's pid; it leads a session of its own and dies with this process."""
    guard = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        libc.prctl(_PR_SET_PDEATHSIG, _KILL, 0, 0, 0)
        if os.getppid() != guard:  # it died before the kernel knew
            os._exit(CANNOT_RUN)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), DDBENCH)
        for signum in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; exec keeps that
            signal.signal(signum, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
    finally:
        os._exit(CANNOT_RUN)


def watch(server: int, bell: int) -> None:
    """Until ddbench has closed its end. The server's pid is kept, and everyone else's reaped."""
    is_told = False
    while True:
        ready, _, _ = select.select([DDBENCH, bell], [], [])
        if bell in ready:
            os.read(bell, 4096)
            for pid in children():
                if pid != server:
                    reap(pid)
            if not is_told and (code := exit_code(server)) is not None:
                say(f"ended {code}")
                is_told = True
        if DDBENCH in ready:
            return


def exit_code(server: int) -> int | None:
    found = os.waitid(os.P_PID, server, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def end_children() -> None:
    """Kill them, and theirs as they become ours, until none is left."""
    deadline = time.monotonic() + KILL_FOR_S
    while (left := children()) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(PermissionError):  # it has become another user's
                os.kill(pid, _KILL)
        time.sleep(LOOK_INTERVAL_S)
        for pid in left:
            reap(pid)


def children() -> list[int]:
    """Those of this process, dead ones too until they are reaped."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # just gone
                after_name = Path(entry.path, "stat").read_bytes().rpartition(b")")[2]
                if int(after_name.split()[1]) == os.getpid():
                    found.append(int(entry.name))
    return found


def reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def say(line: str) -> None:
    with contextlib.suppress(OSError):  # ddbench is gone, which is seen elsewhere
        os.write(DDBENCH, f"{line}\n".encode())


if __name__ == "__main__":
    main()
