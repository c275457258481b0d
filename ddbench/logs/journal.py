"""A unit's lines in the journal, as records."""

import io
import subprocess
import tempfile
from collections.abc import Iterator
from typing import cast

from ddbench.errors import LogFormatError
from ddbench.logs.stream import LoggedRecord, read_stream

_SUFFIX = ".service"


def read_journal(unit: str, *, since: str | None = None) -> Iterator[LoggedRecord]:
    """Yield what the server in `unit` logged, oldest first, in constant memory.

    since: a time as journalctl takes it: "2026-07-23 05:30", "-2h", "today".

    Raises LogFormatError when journalctl refuses or shows nothing, and as read_log.
    """
    name = unit if unit.endswith(_SUFFIX) else unit + _SUFFIX
    command = ["journalctl", "--output=cat", "--all", "--quiet", "--no-pager"]
    if since is not None:
        command.append(f"--since={since}")
    # A user manager's units stand in a field of their own, but in some containers they do not.
    command += [f"_SYSTEMD_UNIT={name}", "+", f"_SYSTEMD_USER_UNIT={name}"]
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints
            )
        except FileNotFoundError as cause:
            raise LogFormatError(
                "this machine has no journalctl",
                remedy="Give the server's log as a file instead of --unit.",
            ) from cause
        with process:
            output = cast(io.BufferedReader, process.stdout)
            had_lines = bool(output.peek(1))
            if had_lines:
                yield from read_stream(output, f"the journal of {name}")
        complaints.seek(0)
        said = complaints.read().decode(errors="replace").strip()
        if process.returncode != 0:
            raise LogFormatError(
                f"journalctl failed: {said or f'exit status {process.returncode}'}",
                remedy="Correct --unit and --since as journalctl wants them.",
            )
        if not had_lines:
            raise LogFormatError(
                f"the journal has no line of {name}" + (f" since {since}" if since else ""),
                remedy="Check the name and the time; reading another user's journal takes the "
                "group systemd-journal.",
            )
