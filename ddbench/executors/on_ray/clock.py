"""How far a clock on another host is from ours, asked over the network.

Offset: what theirs shows above ours. The answer was written between our send and our receipt, so
with the middle of the two the error is at most half the round trip, whatever the network does; the
quickest of several rounds is taken.

Source: RFC 5905 (NTP), section 8, without its assumption that both ways take as long.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

ROUNDS = 30


@dataclass(frozen=True, slots=True)
class Offset:
    """Theirs minus ours; the truth is within error_s of it."""

    offset_s: float
    error_s: float


def measure_offset(
    ask: Callable[[], float],
    *,
    rounds: int = ROUNDS,
    clock: Callable[[], float] = time.perf_counter,
) -> Offset:
    """ask: what their clock shows, over the network."""
    found = []
    for _ in range(rounds):
        before = clock()
        theirs = ask()
        after = clock()
        found.append(Offset(theirs - (before + after) / 2.0, (after - before) / 2.0))
    return min(found, key=lambda offset: offset.error_s)


def drifted(before: Offset, after: Offset) -> Offset:
    """The offset in between, of clocks that may run at different speeds."""
    middle = (before.offset_s + after.offset_s) / 2.0
    half_drift = abs(after.offset_s - before.offset_s) / 2.0
    return Offset(middle, max(before.error_s, after.error_s) + half_drift)
