"""What a trial says of itself while it runs."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """done counts failed requests too; tokens are those of completed requests."""

    done: int
    failed: int
    total: int
    tokens: int
    elapsed_s: float


def together(parts: Collection[Progress]) -> Progress:
    """Of one trial whose load several processes share."""
    return Progress(
        done=sum(p.done for p in parts),
        failed=sum(p.failed for p in parts),
        total=sum(p.total for p in parts),
        tokens=sum(p.tokens for p in parts),
        elapsed_s=max(p.elapsed_s for p in parts),
    )
