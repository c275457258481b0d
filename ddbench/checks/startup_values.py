"""The `name=value` settings that a server's start-up lines state."""

import re

from ddbench.checks.evidence import Evidence

_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\[[^\]]*\]|'[^']*'|[^,\s]+)")


def startup_values(evidence: Evidence, fact: str) -> dict[str, str]:
    """{"block_size": "8", ...} from the last start-up line of kind `fact`; empty without one."""
    for said in reversed(evidence.startup):
        if said.name == fact:
            return {n: v.strip("'").rstrip(".") for n, v in _PAIR.findall(said.value)}
    return {}


def startup_lines(evidence: Evidence, fact: str) -> list[str]:
    """What the lines of the kind `fact` say, in their order."""
    return [said.value for said in evidence.startup if said.name == fact]
