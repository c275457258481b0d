"""The mean accept len of a log, when the weight of each line is known only within bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

from ddbench.checks.evidence import Evidence
from ddbench.checks.limits import log_interval
from ddbench.checks.window_steps import by_rank


@dataclass(frozen=True, slots=True)
class LoggedMean:
    """low and high bracket the mean over request-steps; steps is their number, None if unknown."""

    low: float
    high: float
    windows: int
    steps: float | None


def mean_accept_len(evidence: Evidence) -> LoggedMean | None:
    """accept len over all request-steps of the log; None without a line that has it.

    A line does not say how many request-steps it averages over: the number running is that of its
    last step. It lies between those of this line and the one before, so the mean is bracketed by
    the weights that push it lowest and highest.
    """
    lines: list[tuple[float, float, float]] = []  # (accept len, lightest, heaviest)
    for rank in by_rank(evidence.windows):
        previous: int | None = None
        for window in rank:
            running = max(1, window.running_requests or 1)
            if window.accept_len_logged:
                before = running if previous is None else previous
                lines.append((window.accept_len_logged, min(before, running), max(before, running)))
            previous = running
    if not lines:
        return None
    interval = log_interval(evidence)
    return LoggedMean(
        low=_extreme(lines, sign=-1.0),
        high=_extreme(lines, sign=1.0),
        windows=len(lines),
        steps=None if interval is None else interval * sum((a + b) / 2 for _, a, b in lines),
    )


def _extreme(lines: Sequence[tuple[float, float, float]], *, sign: float) -> float:
    """The largest (sign 1) or smallest weighted mean. Dinkelbach's iteration, a few rounds."""
    mean = sum(value * low for value, low, _ in lines) / sum(low for _, low, _ in lines)
    for _round in range(50):
        weights = [high if sign * (value - mean) > 0 else low for value, low, high in lines]
        better = sum(w * value for w, (value, _, _) in zip(weights, lines, strict=True))
        better /= sum(weights)
        if abs(better - mean) < 1e-9:
            break
        mean = better
    return mean
