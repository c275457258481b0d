"""The end of a log that may be huge, still growing, or not there."""

import os
from pathlib import Path

from ddbench.server.redact import redact, secret_values

_TAIL_BYTES = 65536


def last_lines(path: Path, lines: int = 20) -> str:
    """At most `lines` lines of the last 64 KiB, without secrets; empty when there is no log."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL_BYTES))
            tail = log.read()
    except FileNotFoundError:
        return ""
    text = "\n".join(tail.decode(errors="replace").splitlines()[-lines:])
    return redact(text, secret_values())
