"""`flags`, `env` and `dialect`: what a sweep file hands to the server's process.

Secrets are refused here: a sweep file is stored with its run, and runs are shared.
"""

import re

from ddbench.plan.argv import SET_ELSEWHERE, SETTINGS
from ddbench.plan.marked_yaml import Marked
from ddbench.records import FlagValue

Dialect = tuple[tuple[str, str, str], ...]

_FLAG = re.compile(r"[a-z0-9][a-zA-Z0-9-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_FLAG = re.compile(r"api-key|password|secret|auth-token|access-token")
_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def read_flags(node: Marked) -> dict[str, FlagValue]:
    """SGLang's flags by their own names, without dashes in front; a list is one flag's values."""
    return {name: _flag_value(name, value) for name, value in node.mapping().items()}


def read_env(node: Marked) -> dict[str, str]:
    env: dict[str, str] = {}
    for name, value in node.mapping().items():
        if not _VARIABLE.fullmatch(name):
            raise value.error(
                f"{name!r} is no name for a variable",
                remedy="Use letters, digits and underscores.",
            )
        if _SECRET_VARIABLE.search(name):
            raise value.error(
                "a secret does not belong in a sweep file, which is stored with every run",
                remedy=f"Remove it and run `export {name}=...` before ddbench: servers inherit it.",
            )
        if isinstance(value.content, bool) or not isinstance(value.content, str | int | float):
            raise value.error(
                f"expected text, found {value.said()}", remedy="Put quotes around the value."
            )
        env[name] = str(value.content)
    return env


def read_dialect(node: Marked) -> Dialect:
    """How a patched server is told a setting: `{budget: {flag: NAME}, topk: {env: NAME}}`.

    counts_root: the server counts the root among the budget's nodes, so it is told one more.
    """
    triples: list[tuple[str, str, str]] = []
    for setting, entry in node.mapping(known=SETTINGS).items():
        how = entry.mapping(known=("flag", "env", "counts_root"))
        if ("flag" in how) == ("env" in how):
            raise entry.error(
                "expected one of `flag` and `env`",
                remedy="Say which flag or which variable carries the setting.",
            )
        kind = "flag" if "flag" in how else "env"
        triples.append((setting, kind, how[kind].text().removeprefix("--")))
        if "counts_root" in how and how["counts_root"].flag():
            triples.append((setting, "counts_root", "true"))
    return tuple(sorted(triples))


def _flag_value(name: str, value: Marked) -> FlagValue:
    if name.startswith("-") or not _FLAG.fullmatch(name):
        raise value.error(
            f"{name!r} is not a flag's name as written here",
            remedy=f"Write `{name.lstrip('-').replace('_', '-')}`.",
        )
    if name in SET_ELSEWHERE:
        raise value.error(
            "ddbench writes this flag itself", remedy=f"Set it by {SET_ELSEWHERE[name]}."
        )
    if _SECRET_FLAG.search(name):
        raise value.error(
            "a secret does not belong in a sweep file, which is stored with every run",
            remedy="Give the server its keys by a file or variable outside of the sweep file.",
        )
    if isinstance(value.content, list):
        return tuple(_single(item) for item in value.items())
    return _single(value) if not isinstance(value.content, bool) else value.content


def _single(value: Marked) -> str | int | float:
    if isinstance(value.content, bool) or not isinstance(value.content, str | int | float):
        raise value.error(
            f"{value.said()} is no value for a flag",
            remedy="Write true for a bare flag, else text or a number.",
        )
    return value.content
