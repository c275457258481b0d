"""How many requests were under way, from the client's own clock."""

from ddbench.checks.evidence import Evidence
from ddbench.stats.in_flight import mean_in_flight


def achieved_concurrency(evidence: Evidence) -> float | None:
    """As stats.in_flight. Failed requests have no end and are left out."""
    return mean_in_flight([(r.sent_s, r.sent_s + r.e2e_s) for r in evidence.completed])
