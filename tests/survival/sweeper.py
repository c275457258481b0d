"""Runs `ddbench` again and again, each time in a process of its own that was forked when everything
was imported already: a kill then hits the sweep, and not Python's own start.

Reads one JSON list of arguments a line; answers with the process id, and at its end with the code.
"""

import json
import os
import sys
from importlib import import_module

from ddbench.cli.main import main

WARM = ("ddbench.cli.live", "ddbench.plan.read", "ddbench.report.terminal", "ddbench.sweep",
        "typer._adapters")  # fmt: skip

for module in WARM:
    import_module(module)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        sys.argv = ["ddbench", *json.loads(line)]
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 0)
        os.dup2(nowhere, 1)
        log = os.open(os.environ["SWEEPER_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 2)
        code = 0
        try:
            main()
        except SystemExit as done:
            code = done.code if isinstance(done.code, int) else 1
        except BaseException:  # noqa: BLE001 as Python itself would
            sys.excepthook(*sys.exc_info())
            code = 70
        sys.stderr.flush()
        os._exit(code)
    print(pid, flush=True)
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
