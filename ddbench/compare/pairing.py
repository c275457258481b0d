"""Two arms at one concurrency, joined on prompt id, and their ratios. Above 1: more in `second`."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from ddbench.compare.arms import ComparedArm
from ddbench.compare.measures import Steps, blocks_of, steps_of, tokens_per_s, tpot_s
from ddbench.records import RequestCompleted, RunResult
from ddbench.stats.difference import paired_difference
from ddbench.stats.interval import CONFIDENCE, Interval
from ddbench.stats.ratio import paired_ratio
from ddbench.stats.visits import ratio_over_visits

Trials = Sequence[RunResult]
Column = tuple[list[float], list[float], list[str]]  # numerators, denominators, prompt ids


@dataclass(frozen=True, slots=True)
class Ratios:
    """Of a second arm over a first one. None: not measured on both sides.

    tokens_per_step: sum/sum over sum/sum; its n counts prompts, and so does that of
    tokens_per_step_mean (ratio of the means over requests), tpot (below 1 the second is better)
    and request_rate (sum of tokens over sum of E2E): they carry the choice of prompts.
    tokens_per_s: trials paired by visit and repeat; n counts pairs, or visits where these are two
    or more: the noise of running again, and of launching again.
    """

    tokens_per_step: Interval | None
    tokens_per_step_mean: Interval | None
    tokens_per_s: Interval | None
    request_rate: Interval | None
    tpot: Interval | None


def ratios(first: Trials, second: Trials, *, confidence: float = CONFIDENCE) -> Ratios:
    """All ratios of two arms' trials at one concurrency."""
    pooled = [_steps(side) for side in (first, second)]
    means = [_step_means(side) for side in (first, second)]
    rates = [_rates(side) for side in (first, second)]
    times = [_times(side) for side in (first, second)]
    return Ratios(
        tokens_per_step=_paired(pooled[0], pooled[1], confidence),
        tokens_per_step_mean=_paired(means[0], means[1], confidence),
        tokens_per_s=throughput_ratio(first, second, confidence=confidence),
        request_rate=_paired(rates[0], rates[1], confidence),
        tpot=_paired(times[0], times[1], confidence),
    )


def throughput_ratio(
    first: Trials, second: Trials, *, confidence: float = CONFIDENCE
) -> Interval | None:
    """tok/s of `second` over that of `first`, trials paired by host, visit and repeat."""
    pairs = _rate_pairs(first, second)
    if not pairs:
        return None
    above, below, trials = zip(*pairs, strict=True)
    return ratio_over_visits(above, below, blocks_of(trials), confidence=confidence)


def throughput_ratios(first: Trials, second: Trials) -> dict[Hashable, float]:
    """The same of each unit that throughput_ratio counts: a host, a visit, or else a repeat.

    Where a unit has several trials, their geometric mean.
    """
    pairs = _rate_pairs(first, second)
    blocks: Sequence[Hashable] = blocks_of([trial for _, _, trial in pairs])
    if len(set(blocks)) < 2:
        blocks = [(trial.trial.visit, trial.trial.repeat) for _, _, trial in pairs]
    ratios: defaultdict[Hashable, list[float]] = defaultdict(list)
    for block, (above, below, _) in zip(blocks, pairs, strict=True):
        ratios[block].append(above / below)
    return {block: geometric_mean(found) for block, found in ratios.items()}


def _rate_pairs(first: Trials, second: Trials) -> list[tuple[float, float, RunResult]]:
    """tok/s of `second` and of `first`, and the trial of `first`, of each pair of trials."""
    return [
        (above, below, mine)
        for mine, theirs in paired_trials(first, second)
        if (above := tokens_per_s(theirs)) and (below := tokens_per_s(mine))
    ]


def tokens_per_step_ratio(
    first: Trials, second: Trials, *, confidence: float = CONFIDENCE
) -> Interval | None:
    """Pooled tokens per step of `second` over that of `first`, paired by prompt."""
    return _paired(_steps(first), _steps(second), confidence)


def tokens_per_step_gain(first: Trials, second: Trials) -> Interval | None:
    """Pooled tokens per step of `second` less that of `first`, paired by prompt."""
    shared = _shared(_steps(first), _steps(second))
    return None if shared is None else paired_difference(shared[1], shared[0])


def paired_trials(first: Trials, second: Trials) -> list[tuple[RunResult, RunResult]]:
    """Trials of both sides with one visit and repeat, in that order, that one host has run: the
    difference between two hosts is none between arms."""
    mine, theirs = ({(t.trial.visit, t.trial.repeat): t for t in side} for side in (first, second))
    shared = [(mine[key], theirs[key]) for key in sorted(mine.keys() & theirs.keys())]
    return [(a, b) for a, b in shared if a.host == b.host]


def shared_concurrencies(first: ComparedArm, second: ComparedArm) -> list[int]:
    return sorted(set(first.concurrencies) & set(second.concurrencies))


def _paired(first: Column, second: Column, confidence: float) -> Interval | None:
    shared = _shared(first, second)
    return None if shared is None else paired_ratio(shared[1], shared[0], confidence=confidence)


def _shared(first: Column, second: Column) -> tuple[Column, Column] | None:
    """Both sides, of the prompts that are on both; None where a side measured nothing there."""
    shared = set(first[2]) & set(second[2])
    mine, theirs = _only(shared, first), _only(shared, second)
    if not all(sum(column) > 0.0 for side in (mine, theirs) for column in side[:2]):
        return None
    return mine, theirs


def _only(prompts: set[str], side: Column) -> Column:
    kept = [row for row in zip(*side, strict=True) if row[2] in prompts]
    return [a for a, _, _ in kept], [b for _, b, _ in kept], [p for _, _, p in kept]


def _steps(trials: Trials) -> Column:
    return _column([(s.tokens, s.steps, s.prompt_id) for s in steps_of(trials)])


def _step_means(trials: Trials) -> Column:
    counted: list[Steps] = [s for s in steps_of(trials) if s.steps]
    return _column([(s.tokens / s.steps, 1.0, s.prompt_id) for s in counted])


def _rates(trials: Trials) -> Column:
    return _column([(r.completion_tokens, r.e2e_s, r.prompt_id) for r in _completed(trials)])


def _times(trials: Trials) -> Column:
    timed = [(tpot_s(r), 1.0, r.prompt_id) for r in _completed(trials)]
    return _column([(time_s, one, prompt) for time_s, one, prompt in timed if time_s is not None])


def _column(rows: Sequence[tuple[float, float, str]]) -> Column:
    return [float(a) for a, _, _ in rows], [float(b) for _, b, _ in rows], [p for _, _, p in rows]


def _completed(trials: Trials) -> list[RequestCompleted]:
    return [request for trial in trials for request in trial.completed]
