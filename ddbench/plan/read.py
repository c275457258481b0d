"""A sweep file, read and checked: every mistake is a PlanError naming file, line and key."""

import os
from collections.abc import Mapping
from pathlib import Path

from ddbench.plan.arms import read_arms
from ddbench.plan.load_section import read_load_section
from ddbench.plan.marked_yaml import Marked, parse_marked, read_text
from ddbench.plan.repeats import read_repeats
from ddbench.plan.resources import read_resources
from ddbench.plan.server_section import read_server_section
from ddbench.records import SweepPlan

KEYS = ("name", "server", "arms", "load", "repeats", "visits", "resources")
DEFAULT_VISITS = 1


def read_sweep(path: Path) -> SweepPlan:
    """The plan in the file at `path`. Raises PlanError, one sentence and a remedy."""
    return parse_sweep(read_text(path), file=str(path))


def parse_sweep(text: str, *, file: str, environment: Mapping[str, str] = os.environ) -> SweepPlan:
    """The plan that `text` describes; `file` is how errors name it.

    `environment` is asked for DDBENCH_SGLANG_PYTHON only.
    """
    root = parse_marked(text, file)
    entries = root.mapping(known=KEYS)
    for required in ("name", "arms"):
        if required not in entries:
            raise root.error(
                f"`{required}` is missing", remedy=f"Add `{required}:` at the top level."
            )
    empty = Marked(file, root.line, "", {})
    loads = read_load_section(entries.get("load", empty))
    server = read_server_section(entries.get("server", empty), environment)
    largest = max(load.concurrency for load in loads)
    arms = read_arms(
        entries["arms"], server, largest_concurrency=largest, record_drafts=loads[0].record_drafts
    )
    repeats, until = read_repeats(entries.get("repeats"))
    return SweepPlan(
        name=_name(entries["name"]),
        text=text,
        arms=tuple(arm for arm, _ in arms),
        servers=tuple(config for _, config in arms),
        loads=loads,
        repeats=repeats,
        visits=entries["visits"].integer(at_least=1) if "visits" in entries else DEFAULT_VISITS,
        until=until,
        resources=read_resources(entries.get("resources")),
    )


def _name(node: Marked) -> str:
    name = node.text()
    node.require_file_name(name)
    return name
