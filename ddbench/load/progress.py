"""What a trial says of itself while it runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """done counts failed requests too; tokens are those of completed requests."""

    done: int
    failed: int
    total: int
    tokens: int
    elapsed_s: float
