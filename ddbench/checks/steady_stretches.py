"""Stretches of a log in which nothing but decoding happened: where step times can be read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ddbench.checks.evidence import Evidence
from ddbench.checks.limits import log_interval
from ddbench.checks.prefill_times import PrefillTimes
from ddbench.checks.window_steps import by_rank
from ddbench.records import DecodeWindow


@dataclass(frozen=True, slots=True)
class Stretch:
    """Windows on end with one number of requests running and no prefill between.

    predicted_s: interval x running x accept len / throughput, summed. stamped_s: between stamps.
    """

    running: int
    windows: int
    predicted_s: float
    stamped_s: float


def steady_stretches(evidence: Evidence) -> list[Stretch]:
    """Every stretch of every rank; empty without --decode-log-interval."""
    interval = log_interval(evidence)
    if interval is None:
        return []
    return [s for rank in by_rank(evidence.windows) for s in _of_rank(evidence, rank, interval)]


def _of_rank(evidence: Evidence, rank: Sequence[DecodeWindow], interval: int) -> Iterator[Stretch]:
    prefill = PrefillTimes(evidence.prefill, rank[0].ranks)
    windows, predicted_s, stamped_s, running = 0, 0.0, 0.0, 0
    for before, now in pairwise(rank):
        step_s, gap_s = _predicted_s(now, interval), _steady_gap_s(prefill, before, now)
        if step_s is None or gap_s is None:
            if windows:
                yield Stretch(running, windows, predicted_s, stamped_s)
            windows, predicted_s, stamped_s = 0, 0.0, 0.0
            continue
        running = now.running_requests or 0
        windows += 1
        predicted_s += step_s
        stamped_s += gap_s
    if windows:
        yield Stretch(running, windows, predicted_s, stamped_s)


def _predicted_s(window: DecodeWindow, interval: int) -> float | None:
    if not window.running_requests or not window.throughput_tokens_per_s:
        return None
    tokens = interval * window.running_requests * (window.accept_len_logged or 1.0)
    return tokens / window.throughput_tokens_per_s


def _steady_gap_s(prefill: PrefillTimes, before: DecodeWindow, now: DecodeWindow) -> float | None:
    """Seconds between two lines; None when the batch changed or a prefill came between."""
    start, end = before.logged_at, now.logged_at
    if start is None or end is None or before.running_requests != now.running_requests:
        return None
    if prefill.lines(start, end):
        return None
    return (end - start).total_seconds()
