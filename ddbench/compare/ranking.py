"""Which arms may be ranked with each other: one question, answered by several settings."""

from collections.abc import Sequence

from ddbench.compare.arms import ComparedArm
from ddbench.compare.conditions import DRAFT_SETTINGS, SETTINGS, refusing

_CHOICES = frozenset(
    {
        *SETTINGS,
        *DRAFT_SETTINGS,
        *("effective max running requests", "max_running_requests (asked)", "block size"),
        *("steps from CUDA graphs", "SGLang version"),
        *("drafter weights", "drafter config", "draft model"),
    }
)
"""What whoever runs the server may choose. The weights, the machine and the load are given."""


def unlike(arms: Sequence[ComparedArm]) -> dict[tuple[str, str], tuple[str, ...]]:
    """(run, name) of each arm that answers another question than the first one -> how it differs.

    Another model, machine, prompts or lengths of answers: its numbers are no rivals of the others'.
    """
    found = {}
    for arm in arms[1:]:
        if odd := [d for d in refusing(arms[0], arm) if d.what not in _CHOICES]:
            found[arm.run, arm.name] = tuple(f"unlike {arms[0].name} in {d}" for d in odd)
    return found
