"""The main process of a unit: starts the server, mirrors its log, ends with it or with ddbench.

A program, not a module:
`python -I -S keeper.py [--environment FILE] [--owner PID:BORN:UNIT] COMMAND...`,
with file descriptor 1 on the journal and 2 on the log file, open for appending. It runs with the
server's interpreter, in the server's unit, and so imports nothing of ddbench.

The server writes to the file itself, so that a line is there before the answer that it is about;
what is new in the file is copied to the journal a moment later. The environment comes in a file,
removed as soon as it is read, because `systemctl show` prints what a unit is told otherwise.
--owner names ddbench's process and the unit: should that process vanish (kill -9), the unit's
processes are killed, and only if they are in a control group that has exactly the unit's name.
"""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

LOOK_INTERVAL_S = 0.1
KILL_WAIT_S = 5.0
JOURNAL_WAIT_S = 0.2  # journald asks a line's writer for its unit, so the writer must live
COMMAND_NOT_FOUND = 127
OUR_UNITS = "ddbench-"

JOURNAL, LOG = 1, 2


def main() -> None:
    environment_file, owner, command = parse(sys.argv[1:])
    environment = dict(os.environ)
    if environment_file is not None:
        environment = json.loads(environment_file.read_text(encoding="utf-8"))
        environment_file.unlink()
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, lambda *_: None)  # systemd tells the server itself; we end after it
    mirror = Mirror()
    killed_before = out_of_memory_kills()
    try:
        server = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=LOG, stderr=LOG
        )
    except OSError as error:
        say(f"cannot run {command[0]}: {error.strerror}")
        mirror.copy()
        sys.exit(COMMAND_NOT_FOUND)
    ended_with_owner = stay(server, owner, mirror)
    killed = out_of_memory_kills() - killed_before
    if killed > 0:
        say(f"the kernel's out-of-memory killer ended {killed} process(es) of this unit")
    if mirror.copy():
        time.sleep(JOURNAL_WAIT_S)
    if not ended_with_owner:
        end_like(server.returncode)


class Owner(NamedTuple):
    pid: int
    born_at: str
    unit: str  # the transient unit that it made for this server


def parse(words: list[str]) -> tuple[Path | None, Owner | None, list[str]]:
    """The environment's file, the owner, the command."""
    environment_file: Path | None = None
    owner: Owner | None = None
    while words and words[0] in ("--environment", "--owner"):
        option, value, *words = words
        if option == "--environment":
            environment_file = Path(value)
        else:
            pid, born_at, unit = value.split(":", 2)
            owner = Owner(int(pid), born_at, unit)
    return environment_file, owner, words


def stay(server: "subprocess.Popen[bytes]", owner: Owner | None, mirror: "Mirror") -> bool:
    """Until the server's end; True when it was ended because its owner is gone."""
    watched = select.poll()
    server_end = os.pidfd_open(server.pid)
    watched.register(server_end, select.POLLIN)
    owner_end = None
    if owner is not None:
        owner_end = open_process(owner)
        if owner_end is None:
            end_without_owner(server, owner.unit)
            return True
        watched.register(owner_end, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in watched.poll(LOOK_INTERVAL_S * 1000)]
        mirror.copy()
        if server_end in ready:
            server.wait()
            return False
        if owner is not None and owner_end in ready:
            end_without_owner(server, owner.unit)
            return True


def open_process(owner: Owner) -> int | None:
    """A descriptor that turns readable at its end; None when that process has ended already."""
    try:
        descriptor = os.pidfd_open(owner.pid)
        return descriptor if born(owner.pid) == owner.born_at else None
    except OSError:
        return None


def born(pid: int) -> str:
    """When a process started, in the kernel's ticks: field 22 of proc(5)."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    return after_name.split()[19]


def end_without_owner(server: "subprocess.Popen[bytes]", unit: str) -> None:
    """Kill the server, and what else is in the unit; at our end systemd does the same again."""
    say("ddbench is gone, so its server was ended")
    deadline = time.monotonic() + KILL_WAIT_S
    while time.monotonic() < deadline:
        server.kill()
        others = [pid for pid in unit_members(unit) if pid != os.getpid()]
        if server.poll() is not None and not others:
            break
        for pid in others:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        time.sleep(LOOK_INTERVAL_S)


def unit_members(unit: str) -> list[int]:
    """Pids in our control group, if it is that unit's own and nobody else's; else none."""
    if not unit.startswith(OUR_UNITS):
        return []
    for group in control_groups("name=systemd", "systemd") + control_groups("", ""):
        if group.name != unit:
            continue
        try:
            return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
        except OSError:
            continue
    return []


def out_of_memory_kills() -> int:
    """How many processes of this control group the kernel has killed for memory."""
    for group in control_groups("memory", "memory") + control_groups("", ""):
        for name in ("memory.oom_control", "memory.events"):
            try:
                lines = [line.split() for line in (group / name).read_text().splitlines()]
            except OSError:
                continue
            return sum(int(value) for counter, value in lines if counter == "oom_kill")
    return 0


def control_groups(controller: str, mount: str) -> list[Path]:
    """Where this process's group of `controller` is found; "" is the unified hierarchy."""
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    return [
        Path("/sys/fs/cgroup", mount, path.lstrip("/"))
        for _, controllers, path in (line.split(":", 2) for line in lines)
        if path != "/" and controller in controllers.split(",")
    ]


class Mirror:
    """Copies what is new in the log file to the journal; never a reason to stop a server."""

    def __init__(self) -> None:
        self._log: int | None = None
        try:
            self._log = os.open(f"/proc/self/fd/{LOG}", os.O_RDONLY)
            os.lseek(self._log, 0, os.SEEK_END)
        except OSError as error:
            say(f"cannot copy this log to the journal: {error.strerror}")

    def copy(self) -> bool:
        """True when there was something new."""
        is_new = False
        while self._log is not None and (chunk := os.read(self._log, 65536)):
            is_new = True
            try:
                while chunk:
                    chunk = chunk[os.write(JOURNAL, chunk) :]
            except OSError:  # the journal is gone; the file has everything
                self._log = None
        return is_new


def say(text: str) -> None:
    os.write(LOG, f"ddbench: {text}\n".encode())


def end_like(code: int) -> None:
    """End as the server did, so that the unit's result is the server's."""
    if code >= 0:
        sys.exit(code)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the server has left a dump, if any
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    signal.pause()


if __name__ == "__main__":
    main()
