"""Take terminal and transport noise off a log line; the words stay as they are."""

import re

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


def visible_text(line: str) -> str:
    """The line without ANSI escapes, NUL bytes and the line end."""
    if "\x1b" in line:
        line = _ESCAPE.sub("", line)
    if "\0" in line:
        line = line.replace("\0", "")
    return line.rstrip("\r\n")


def overwritten_parts(line: str) -> list[str]:
    """The texts that carriage returns put over each other: a progress bar, then a message."""
    return line.split("\r") if "\r" in line else [line]
