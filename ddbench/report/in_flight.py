"""How many requests were in flight: what was asked for is not always what was achieved."""

from ddbench.records import RunResult


def achieved_concurrency(result: RunResult) -> float | None:
    """Request-seconds in flight between the first and the last send, over that span.

    The tail after the last send, where the number must fall, is left out. None when a request
    failed, since nobody knows how long it was in flight, or when all were sent at once.
    """
    if not result.requests or len(result.completed) < len(result.requests):
        return None
    first_s = min(request.sent_s for request in result.completed)
    last_s = max(request.sent_s for request in result.completed)
    if last_s <= first_s:
        return None
    in_flight_s = sum(min(r.sent_s + r.e2e_s, last_s) - r.sent_s for r in result.completed)
    return in_flight_s / (last_s - first_s)


def occupancy(result: RunResult) -> float | None:
    """Mean requests in flight over the whole trial, tail included: sum of E2E over wall time."""
    if not result.wall_s or len(result.completed) < len(result.requests):
        return None
    return sum(request.e2e_s for request in result.completed) / result.wall_s
