"""What the server's cumulative counters gained over a run."""

from ddbench.checks.evidence import Evidence


def gained(evidence: Evidence, name: str) -> float | None:
    """counters_after - counters_before. A counter absent before started at 0 (SGLang makes each at
    its first event); absent after is not measured. Negative when the server restarted between.
    """
    after: float | None = getattr(evidence.counters_after, name)
    before: float | None = getattr(evidence.counters_before, name)
    return None if after is None else after - (before or 0.0)
