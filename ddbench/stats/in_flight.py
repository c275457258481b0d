"""How many requests were in flight: what was asked for is not always what was achieved."""

from collections.abc import Sequence


def mean_in_flight(spans: Sequence[tuple[float, float]]) -> float | None:
    """Request-seconds in flight between the first and the last send, over that span.

    spans: (sent, answered) of each request, in seconds of one clock. The tail after the last send,
    where the number must fall, is left out. None when all were sent at once, or none at all.
    """
    if not spans:
        return None
    first, last = min(sent for sent, _ in spans), max(sent for sent, _ in spans)
    if last <= first:
        return None
    return sum(min(answered, last) - sent for sent, answered in spans) / (last - first)
