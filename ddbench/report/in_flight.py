"""How busy a trial kept its server, tail included."""

from ddbench.records import RunResult


def occupancy(result: RunResult) -> float | None:
    """Mean requests in flight over the whole trial, tail included: sum of E2E over wall time."""
    if not result.wall_s or len(result.completed) < len(result.requests):
        return None
    return sum(request.e2e_s for request in result.completed) / result.wall_s
