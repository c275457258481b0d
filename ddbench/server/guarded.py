"""A server under guard.py, as ddbench sees it.

ddbench - guard.py - the server (leads a session) - its workers
                   - orphans of its workers
"""

import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

from ddbench.errors import ServerError
from ddbench.server import guard

START_WAIT_S = 30.0
END_WAIT_S = 10.0
_KILLED = -9


class GuardedServer:
    """Started at once. Its pid stays its own until `release`, also when it has ended."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str], log: IO[bytes]) -> None:
        self._line, guards_end = socket.socketpair()
        self._said = b""
        self._exit_code: int | None = None
        with guards_end:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__, *argv],
                env=env,
                stdin=guards_end.fileno(),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self.pid = self._started()
        except BaseException:
            self.release()
            raise

    @property
    def guard_pid(self) -> int:
        return self._guard.pid

    def exit_code(self) -> int | None:
        """The server's, negative for a signal; None while it runs."""
        if self._exit_code is None:
            with suppress(BlockingIOError):
                self._line.setblocking(False)
                said = self._line.recv(4096)
                self._said += said
                if not said:  # the guard was killed, and the kernel has killed the server
                    self._exit_code = _KILLED
            word, _, code = self._said.strip().partition(b" ")
            if word == b"ended" and self._said.endswith(b"\n"):
                self._exit_code = int(code)
        return self._exit_code

    def release(self) -> None:
        """Let the guard end; what is left of the server it kills first."""
        self._line.close()
        try:
            self._guard.wait(guard.KILL_FOR_S + END_WAIT_S)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()

    def _started(self) -> int:
        """The server's pid, once there is one."""
        self._line.settimeout(START_WAIT_S)
        try:
            while b"\n" not in self._said:
                said = self._line.recv(4096)
                if not said:
                    break
                self._said += said
        except OSError as cause:
            raise _not_started() from cause
        line, end, self._said = self._said.partition(b"\n")
        word, _, pid = line.partition(b" ")
        if not end or word != b"started":
            raise _not_started()
        return int(pid)


def _not_started() -> ServerError:
    return ServerError(
        "the process that guards a server did not start",
        remedy="Look for the out-of-memory killer in `dmesg`, and at limits on processes.",
    )
