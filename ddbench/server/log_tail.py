"""The end of a log that may be huge, still growing, or not there."""

import os
from pathlib import Path

_TAIL_BYTES = 65536


def last_lines(path: Path, lines: int = 20) -> str:
    """At most `lines` lines, from the last 64 KiB; empty when there is no log."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL_BYTES))
            tail = log.read()
    except FileNotFoundError:
        return ""
    return "\n".join(tail.decode(errors="replace").splitlines()[-lines:])
