"""Acceptance of one run from whichever witness there is."""

from dataclasses import dataclass

from ddbench.checks.evidence import Evidence
from ddbench.checks.limits import verified_tokens
from ddbench.checks.weighted_means import mean_accept_len
from ddbench.checks.window_steps import steps_a_window


@dataclass(frozen=True, slots=True)
class TokensPerStep:
    mean: float
    steps: float  # request-steps; estimated for a log that does not say its interval
    source: str


def tokens_per_step(evidence: Evidence) -> TokensPerStep | None:
    """From the answers, pooled; else from the log; None when neither counted."""
    counted = [r for r in evidence.completed if r.verify_ct]
    if counted:
        steps = sum(r.verify_ct or 0 for r in counted)
        mean = sum(verified_tokens(r) for r in counted) / steps
        return TokensPerStep(mean, steps, f"{len(counted)} answers")
    logged = mean_accept_len(evidence)
    if logged is None:
        return None
    interval = steps_a_window(evidence)
    steps = interval * sum(
        max(1, w.running_requests or 1) for w in evidence.windows if w.accept_len_logged
    )
    return TokensPerStep((logged.low + logged.high) / 2, steps, f"{logged.windows} log windows")
