"""Become another program that the kernel kills as soon as ddbench is gone, kill -9 included.

A program, not a module: `python -I -S die_with_parent.py PARENT_PID COMMAND...`. Done here and not
between fork and exec, because Python code there may deadlock when ddbench has threads.

The kernel watches the *thread* that started us: it must live as long as the server.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h; survives exec


def main() -> None:
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != int(parent):  # it died before the kernel knew
            return
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and exec would keep that
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
