"""`launcher`: who starts the server's process, and what systemd is told about it."""

import re
from collections.abc import Callable, Mapping
from typing import cast

from ddbench.plan.marked_yaml import Marked
from ddbench.records import Launcher

Options = tuple[tuple[str, str], ...]

_SIZE = re.compile(r"[0-9]+(\.[0-9]+)?[KMGT]?|[0-9]+(\.[0-9]+)?%", re.IGNORECASE)
_CPUS = re.compile(r"[0-9]+(-[0-9]+)?([ ,]+[0-9]+(-[0-9]+)?)*")
_SLICE = re.compile(r"[A-Za-z0-9:_.@\\-]+\.slice")
_SERVICE = re.compile(r"[A-Za-z0-9:_.@\\-]+\.service")


def read_launcher(node: Marked | None) -> tuple[Launcher, Options]:
    """`systemd`, or `systemd: {scope: user}` with options; without any, the plain subprocess."""
    if node is None:
        return "subprocess", ()
    if not isinstance(node.content, dict):
        kind, given = cast(Launcher, node.one_of(tuple(_OPTIONS))), {}
    else:
        entries = node.mapping(known=tuple(_OPTIONS))
        if len(entries) != 1:
            raise node.error(
                "expected one launcher", remedy=f"Choose one of {', '.join(_OPTIONS)}."
            )
        ((name, section),) = entries.items()
        kind = cast(Launcher, name)
        given = section.mapping(known=tuple(_OPTIONS[kind]))
    if kind == "systemd-unit" and "name" not in given:
        raise node.error(
            "systemd-unit needs the unit's name",
            remedy="Write `launcher: {systemd-unit: {name: sglang.service}}`.",
        )
    return kind, tuple(sorted((name, _OPTIONS[kind][name](value)) for name, value in given.items()))


def _scope(node: Marked) -> str:
    return node.one_of(("user", "system"))


def _allow(node: Marked) -> str:
    return node.one_of(("start", "restart"))


def _text_like(pattern: re.Pattern[str], example: str) -> Callable[[Marked], str]:
    """Reads text of a shape; a bare number (`memory_max: 1073741824`) is text, too."""

    def read(node: Marked) -> str:
        is_number = isinstance(node.content, int) and not isinstance(node.content, bool)
        text = str(node.content) if is_number else node.text()
        if not pattern.fullmatch(text):
            raise node.error(f"{text!r} is not possible here", remedy=f"Write it like `{example}`.")
        return text

    return read


def _seconds(node: Marked) -> str:
    return f"{node.number(at_least=0.1):g}"


_OPTIONS: Mapping[Launcher, Mapping[str, Callable[[Marked], str]]] = {
    "subprocess": {},
    "systemd": {
        "scope": _scope,
        "memory_max": _text_like(_SIZE, "64G"),
        "cpu_affinity": _text_like(_CPUS, "0-15"),
        "slice": _text_like(_SLICE, "inference.slice"),
        "timeout_stop_s": _seconds,
    },
    "systemd-unit": {
        "name": _text_like(_SERVICE, "sglang.service"),
        "scope": _scope,
        "allow": _allow,
    },
}
