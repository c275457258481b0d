"""Rounds of one trial as the server's log lines tell them, without the client's clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ddbench.records import DecodeWindow, RunResult


@dataclass(frozen=True, slots=True)
class LogRounds:
    """Means over the rounds between a trial's first and last line.

    A round is one forward of the whole batch. seconds_a_round counts the time between lines, so
    also the prefills in it. running: requests in a round, summed over ranks.
    """

    seconds_a_round: float
    running: float
    rounds: float  # from the first line to the last, and one interval for the first
    lines: int


FEWEST_LINES = 4


def log_rounds(result: RunResult, interval: int | None, *, overlap: bool) -> LogRounds | None:
    """From throughput, accept len and number running of each line; None where they do not allow it.

    A line's throughput spreads the tokens of `interval` rounds over the time since the line before,
    so that time is interval * running * accept len / throughput. The number running is that of the
    last round; the mean of it and of the line before stands for the rounds between. The first line
    carries the idle time before the trial and is dropped; with overlap scheduling the last one
    reads far too high and is dropped as well.

    Args:
        interval: rounds between two lines, --decode-log-interval as the server resolved it.
    """
    if not interval:
        return None
    ranks: dict[str, list[DecodeWindow]] = {}
    for window in result.log.decode:
        ranks.setdefault(window.ranks, []).append(window)
    gaps_s: list[float] = []
    running = 0.0
    for rank in ranks.values():
        read = _read(rank[:-1] if overlap else rank, interval)
        if read is None:
            return None
        gaps_s += [gap_s for gap_s, _ in read]
        running += sum(batch for _, batch in read) / len(read)
    if not gaps_s:
        return None
    return LogRounds(
        seconds_a_round=sum(gaps_s) / len(gaps_s) / interval,
        running=running,
        rounds=interval * len(result.log.decode) / len(ranks),
        lines=len(result.log.decode),
    )


def _read(rank: Sequence[DecodeWindow], interval: int) -> list[tuple[float, float]] | None:
    """(seconds, mean running) of each line but the first; None where too few can be read."""
    if len(rank) < FEWEST_LINES:
        return None
    read = []
    for before, now in pairwise(rank):
        if not before.running_requests or not now.running_requests:
            continue
        if not now.throughput_tokens_per_s:
            continue
        batch = (before.running_requests + now.running_requests) / 2
        tokens = interval * batch * (now.accept_len_logged or 1.0)
        read.append((tokens / now.throughput_tokens_per_s, batch))
    return read or None
