"""Quoting for unit files and systemd-run: see systemd.syntax(7) and systemd.service(5)."""

import re
from collections.abc import Mapping, Sequence

_PLAIN = re.compile(r"[A-Za-z0-9_=:,./%$@+-]+")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"})


def command_line(argv: Sequence[str]) -> str:
    """A command as one property of systemd-run: split and unquoted there, expanded at its start."""
    return " ".join(_quoted(word.replace("$", "$$")) for word in argv)


def in_file(value: str) -> str:
    """`value` for a unit file, where a percent sign begins a specifier."""
    return value.replace("%", "%%")


def environment_lines(env: Mapping[str, str]) -> list[str]:
    """Environment= lines for a file. `systemctl show` prints them: nothing secret may be there."""
    return [f"Environment={in_file(_quoted(f'{name}={value}'))}" for name, value in env.items()]


def expanded_later(argv: Sequence[str]) -> tuple[str, ...]:
    """Words for systemd-run, which keeps them apart but expands variables in them."""
    return tuple(word.replace("$", "$$") for word in argv)


def _quoted(word: str) -> str:
    return word if _PLAIN.fullmatch(word) else f'"{word.translate(_ESCAPES)}"'
