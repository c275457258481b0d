"""Whether a trial was repeated often enough for the precision that was asked."""

from collections.abc import Sequence
from statistics import fmean

from ddbench.records import RepeatMetric, RunResult
from ddbench.stats.mean import mean_interval

FEWEST = 3
"""Two repeats that happen to agree would end it too early."""


def is_precise(values: Sequence[float], within: float) -> bool:
    """True when half the 95 % interval of the mean is at most `within` of that mean.

    A stop that looks at the interval makes it a little too narrow: in simulations with noise of
    1 to 5 % and at most ten repeats a nominal 95 % covered 91 to 95 %.
    """
    if len(values) < FEWEST:
        return False
    interval = mean_interval(values)
    assert interval.low is not None
    assert interval.high is not None
    return interval.high - interval.low <= 2.0 * within * abs(interval.value)


def measured(result: RunResult, metric: RepeatMetric) -> float | None:
    """The metric of one trial; None where the server or the load has none."""
    requests = result.completed
    if result.failure is not None or not requests:
        return None
    match metric:
        case "tokens_per_s":
            tokens = sum(request.completion_tokens for request in requests)
            return tokens / result.wall_s if result.wall_s else None
        case "tpot_s":
            long = [request for request in requests if request.completion_tokens > 1]
            each = [(r.e2e_s - r.ttft_s) / (r.completion_tokens - 1) for r in long]
            return fmean(each) if each else None
        case "ttft_s":
            return fmean(request.ttft_s for request in requests)
        case "e2e_s":
            return fmean(request.e2e_s for request in requests)
