"""The server's own process inside a unit whose main process is keeper.py."""

from contextlib import suppress

import psutil

from ddbench.errors import ServerError
from ddbench.server.systemd.commands import Scope
from ddbench.server.systemd.unit_state import read_unit_state


def server_pid(scope: Scope, unit: str) -> int:
    """Raises ServerError when it has just ended."""
    main_pid = read_unit_state(scope, unit).main_pid
    if main_pid is not None:
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(main_pid).children():
                return child.pid
    raise ServerError(
        f"{unit} ended as soon as it answered", remedy="Look at the end of the server's log."
    )
