"""How many steps a window stands for, and how many requests ended inside it."""

from collections.abc import Sequence
from itertools import pairwise

from ddbench.checks.evidence import Evidence
from ddbench.checks.limits import PRINTED_HALF_UNIT, STAMP_UNIT_S, log_interval
from ddbench.checks.prefill_times import PrefillTimes
from ddbench.records import DecodeWindow

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


def windows_of_many_steps(evidence: Evidence, fewest: int) -> list[DecodeWindow]:
    """The windows with an accept len that average over about `fewest` request-steps or more."""
    interval = steps_a_window(evidence)
    return [
        window
        for window in evidence.windows
        if window.accept_len_logged and interval * max(1, window.running_requests or 1) >= fewest
    ]


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


def finished_in(before: DecodeWindow, now: DecodeWindow, prefill: PrefillTimes) -> int | None:
    """The most requests that can have ended between two lines of one rank; None when unknown.

    Running before, plus those that were admitted between, minus running now. Stamps are whole
    seconds, so prefill lines of the edge seconds count in both neighbours.
    """
    if before.running_requests is None or now.running_requests is None:
        return None
    if before.logged_at is None or now.logged_at is None or not prefill:
        return None
    admitted = prefill.admitted(before.logged_at, now.logged_at)
    return max(0, before.running_requests + admitted - now.running_requests)


def cut_bounds(
    evidence: Evidence, rank: Sequence[DecodeWindow], depth: int | None
) -> list[float | None]:
    """F*D/S of each window: what cuts at end-of-text can take off its mean commit, at most.

    A request that ends at a window's edge is logged in the neighbour, so F is taken over the
    window and one on either side; of the last, all that still ran may have ended in it. Where the
    lines do not give it, F is all requests of the run and one of its warm-up. None without either,
    without D, or without --decode-log-interval.
    """
    interval = log_interval(evidence)
    if interval is None or depth is None or not rank:
        return [None] * len(rank)
    prefill = PrefillTimes(evidence.prefill, rank[0].ranks)
    ended = [None, *(finished_in(before, now, prefill) for before, now in pairwise(rank))]
    everyone = len(evidence.requests) + 1 if evidence.completed else None
    bounds: list[float | None] = []
    for index, window in enumerate(rank):
        near: list[int | None] = [*ended[max(1, index - 1) : index + 2]] if index else [None]
        if window is rank[-1]:
            near.append(window.running_requests)  # no later line shows which of them ended here
        known = [number for number in near if number is not None]
        finished = sum(known) if len(known) == len(near) else everyone
        before = rank[index - 1] if index else window
        fewest = max(1, min(before.running_requests or 0, window.running_requests or 0))
        bounds.append(None if finished is None else finished * depth / (interval * fewest))
    return bounds
