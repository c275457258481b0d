"""Warm a server up until it gets no faster: caches and clocks settle at their own pace."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ddbench.load.closed_loop import run_closed_loop
from ddbench.records import LoadConfig, LoadOutcome, Prompt, RequestCompleted, RequestFailed

TOKENS = 16
OPEN_LOOP_CONCURRENCY = 8  # an open load has no number of its own
TOLERANCE = 0.1
MOST_ROUNDS = 8
LONGEST_S = 60.0  # a round that began is ended


@dataclass(frozen=True, slots=True)
class WarmUp:
    """rates: generated tokens per second of each round. is_steady: the last was no faster than one
    before it, within TOLERANCE. refusals: what every request was told, if none was answered."""

    rates: tuple[float, ...]
    is_steady: bool
    refusals: tuple[str, ...] = ()


def warm_up(
    base_url: str, prompts: Sequence[Prompt], load: LoadConfig, *, known_rate: float | None = None
) -> WarmUp:
    """Send the first prompts, a few tokens each, at the load's concurrency, round by round.

    known_rate: of a steady round on this server at this load; one round that reaches it will do.
    Raises LoadError as run_closed_loop does.
    """
    concurrency = load.concurrency or OPEN_LOOP_CONCURRENCY
    light = replace(
        load,
        max_new_tokens=min(TOKENS, load.max_new_tokens),
        concurrency=concurrency,
        rate_per_s=None,
    )
    best = known_rate
    rates: list[float] = []
    started_at = time.monotonic()
    while len(rates) < MOST_ROUNDS and time.monotonic() - started_at < LONGEST_S:
        outcome = run_closed_loop(base_url, prompts[:concurrency], light)
        if not any(isinstance(request, RequestCompleted) for request in outcome.requests):
            return WarmUp(tuple(rates), is_steady=False, refusals=_refusals(outcome))
        rates.append(_rate(outcome))
        if load.record_drafts:  # a probe, never timed
            return WarmUp(tuple(rates), is_steady=False)
        if best is not None and abs(rates[-1] / best - 1.0) <= TOLERANCE:
            return WarmUp(tuple(rates), is_steady=True)
        if len(rates) > 1 and rates[-1] <= max(rates[:-1]) * (1.0 + TOLERANCE):
            return WarmUp(tuple(rates), is_steady=True)
    return WarmUp(tuple(rates), is_steady=False)


def _rate(outcome: LoadOutcome) -> float:
    tokens = sum(r.completion_tokens for r in outcome.requests if isinstance(r, RequestCompleted))
    return tokens / outcome.wall_s


def _refusals(outcome: LoadOutcome) -> tuple[str, ...]:
    return tuple(r.reason for r in outcome.requests if isinstance(r, RequestFailed))
