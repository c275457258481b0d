"""How many requests were under way, from the client's own clock."""

from ddbench.checks.evidence import Evidence


def achieved_concurrency(evidence: Evidence) -> float | None:
    """Request-seconds in flight between first and last send, over that span.

    None when all were sent at once or none completed. Failed requests have no end and are left
    out.
    """
    spans = [(r.sent_s, r.sent_s + r.e2e_s) for r in evidence.completed]
    if not spans:
        return None
    first, last = min(start for start, _ in spans), max(start for start, _ in spans)
    if last <= first:
        return None
    return sum(min(end, last) - start for start, end in spans) / (last - first)
