"""How many steps a window stands for, and how many requests ended inside it."""

from collections.abc import Sequence
from itertools import pairwise

from ddbench.checks.evidence import Evidence
from ddbench.checks.limits import PRINTED_HALF_UNIT, STAMP_UNIT_S, log_interval
from ddbench.records import DecodeWindow, PrefillWindow

DEFAULT_INTERVAL = 40  # SGLang's --decode-log-interval
MIN_SPAN_S = 10 * STAMP_UNIT_S  # over which whole-second stamps are good to a tenth


def by_rank(windows: Sequence[DecodeWindow]) -> list[list[DecodeWindow]]:
    """The windows of each rank, in log order: only those of one rank follow each other."""
    ranks: dict[str, list[DecodeWindow]] = {}
    for window in windows:
        ranks.setdefault(window.ranks, []).append(window)
    return list(ranks.values())


def steps_a_window(evidence: Evidence) -> int:
    """Decode steps between two log lines.

    The server's own setting; else what throughput x time / (accept len x running) gives; else 1
    when every line fits a single step (accept len x running is whole), and SGLang's default
    otherwise. Only thresholds depend on it, never a number that is shown.
    """
    if (interval := log_interval(evidence)) is not None:
        return interval
    if (estimate := _from_throughput(evidence)) is not None:
        return estimate
    return 1 if all(_fits_one_step(w) for w in evidence.windows) else DEFAULT_INTERVAL


def request_steps(evidence: Evidence, window: DecodeWindow) -> int:
    """Request-steps that `window` averages over, about."""
    return steps_a_window(evidence) * max(1, window.running_requests or 1)


def _fits_one_step(window: DecodeWindow) -> bool:
    if window.accept_len_logged is None:
        return True
    running = max(1, window.running_requests or 1)
    tokens = window.accept_len_logged * running
    return abs(tokens - round(tokens)) <= PRINTED_HALF_UNIT * running


def _from_throughput(evidence: Evidence) -> int | None:
    tokens = token_steps = span_s = 0.0
    for rank in by_rank(evidence.windows):
        for before, now in pairwise(rank):
            if before.logged_at is None or now.logged_at is None:
                continue
            gap_s = (now.logged_at - before.logged_at).total_seconds()
            a_step = (now.accept_len_logged or 1.0) * (now.running_requests or 0)
            if now.throughput_tokens_per_s is None or a_step == 0.0 or gap_s < 0.0:
                continue
            tokens += now.throughput_tokens_per_s * gap_s
            token_steps += a_step
            span_s += gap_s
    if span_s < MIN_SPAN_S:
        return None
    return max(1, round(tokens / token_steps))


def finished_in(
    before: DecodeWindow, now: DecodeWindow, prefill: Sequence[PrefillWindow]
) -> int | None:
    """The most requests that can have ended between two lines of one rank; None when unknown.

    Running before, plus those that were admitted between, minus running now. Stamps are whole
    seconds, so prefill lines of the edge seconds count in both neighbours.
    """
    if before.running_requests is None or now.running_requests is None:
        return None
    if before.logged_at is None or now.logged_at is None or not prefill:
        return None
    admitted = sum(
        line.new_requests or 0
        for line in prefill
        if line.ranks == now.ranks
        and line.logged_at is not None
        and before.logged_at <= line.logged_at <= now.logged_at
    )
    return max(0, before.running_requests + admitted - now.running_requests)


def cut_bound(
    evidence: Evidence, rank: Sequence[DecodeWindow], index: int, depth: int
) -> float | None:
    """F*D/S of window `index`: what cuts at end-of-text can take off its mean commit, at most.

    A request that ends at a window's edge is logged in the neighbour, so F is taken over the
    window and one on either side. Where the lines do not give it, F is all requests of the run and
    one of its warm-up. None without either, or without --decode-log-interval.
    """
    interval = log_interval(evidence)
    if interval is None:
        return None
    finished: int | None = 0 if index else None
    for i in range(max(1, index - 1), min(len(rank), index + 2)):
        ended = finished_in(rank[i - 1], rank[i], evidence.prefill)
        finished = None if ended is None or finished is None else finished + ended
    if finished is None:
        if not evidence.completed:
            return None
        finished = len(evidence.requests) + 1
    before = rank[index - 1] if index else rank[index]
    fewest = min(before.running_requests or 0, rank[index].running_requests or 0)
    return finished * depth / (interval * max(1, fewest))
