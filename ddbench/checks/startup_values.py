"""The `name=value` settings that a server's start-up lines state."""

import re

from ddbench.checks.evidence import Evidence
from ddbench.records import StartupFact

_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[^,\s]+)")


def settings_in(fact: StartupFact) -> dict[str, str]:
    """The settings that one line states, as text, quotes removed."""
    return {name: value.strip("'\"").rstrip(".") for name, value in _PAIR.findall(fact.value)}


def startup_values(evidence: Evidence, fact: str) -> dict[str, str]:
    """{"block_size": "8", ...} from the last start-up line of kind `fact`; empty without one."""
    for said in reversed(evidence.startup):
        if said.name == fact:
            return settings_in(said)
    return {}


def startup_lines(evidence: Evidence, fact: str) -> list[str]:
    """What the lines of the kind `fact` say, in their order."""
    return [said.value for said in evidence.startup if said.name == fact]
