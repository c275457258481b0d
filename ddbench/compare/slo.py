"""Which setting to run under a service level: the fastest that keeps it, at each concurrency."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ddbench.compare.arms import ComparedArm
from ddbench.compare.gate import trouble_at
from ddbench.compare.lossless import losslessness
from ddbench.compare.measures import blocks_of, tokens_per_s, tpot_s
from ddbench.compare.pairing import throughput_ratio
from ddbench.compare.ranking import unlike
from ddbench.errors import NotComparable
from ddbench.records import RequestCompleted, RunResult
from ddbench.stats.interval import Interval
from ddbench.stats.mean import clustered_mean
from ddbench.stats.quantile import fewest_requests, quantile_interval
from ddbench.stats.service_level import Limit, Metric
from ddbench.stats.visits import rate_over_visits

Met = Literal["met", "met within noise", "missed within noise", "missed", "too few requests"]

_TIMES: Mapping[Metric, Callable[[RequestCompleted], float | None]] = {
    "tpot_s": tpot_s,
    "ttft_s": lambda request: request.ttft_s,
    "e2e_s": lambda request: request.e2e_s,
}


@dataclass(frozen=True, slots=True)
class Held:
    """One limit against what was measured. measured: None where there are too few requests.

    Within noise: the interval over prompts holds the limit, or there is none, or a single trial
    lies on the other side of it.
    """

    limit: Limit
    measured: Interval | None
    met: Met


@dataclass(frozen=True, slots=True)
class Setting:
    """One arm at one concurrency under every limit."""

    run: str
    arm: str
    tokens_per_s: Interval
    held: tuple[Held, ...]

    @property
    def met(self) -> Met:
        """The worst of its limits."""
        return max((one.met for one in self.held), key=_WORSE.index)


_WORSE: tuple[Met, ...] = (
    "met",
    "met within noise",
    "missed within noise",
    "too few requests",
    "missed",
)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """At one concurrency. best: the fastest setting that surely meets the level, else the fastest
    that meets it by its values; None: none does. settings: all of them, fastest first.

    rivals: arms that also meet it and whose tok/s this run cannot tell from the best one's.
    faster: arms that are faster, and meet or miss it within noise. left_out: arm -> why.
    """

    concurrency: int
    limits: tuple[Limit, ...]
    best: Setting | None
    settings: tuple[Setting, ...]
    rivals: tuple[str, ...]
    faster: tuple[str, ...]
    left_out: Mapping[str, tuple[str, ...]]

    @property
    def verdict(self) -> str:
        """What follows the best arm's name, or stands alone where there is none."""
        if self.best is not None:
            return "meets it" if self.best.met == "met" else "meets it, within noise"
        if not self.settings:
            return "no arm could be judged"
        near = any(setting.met == "missed within noise" for setting in self.settings)
        unknown = any(setting.met == "too few requests" for setting in self.settings)
        if unknown and not near:
            return "none is known to"
        return "none does by its values; some miss it within noise" if near else "none does"


def recommend(arms: Sequence[ComparedArm], limits: Sequence[Limit]) -> list[Recommendation]:
    """One entry a concurrency, of all arms that ran there without trouble.

    Left out are those that answer another question than the first arm, see ddbench.compare.ranking,
    and those whose answers are not the model's own.
    Raises NotComparable where no arm has the requests that a percentile needs.
    """
    odd = unlike(arms)
    lossy = {(x.run, x.arm, x.concurrency) for x in losslessness(arms) if x.outcome == "lossy"}
    found = [
        _at(concurrency, arms, tuple(limits), odd, lossy)
        for concurrency in sorted({c for arm in arms for c in arm.concurrencies})
    ]
    for limit in limits:
        held = [h for r in found for s in r.settings for h in s.held if h.limit == limit]
        if held and all(one.met == "too few requests" for one in held):
            raise NotComparable(
                f"no arm has the {fewest_requests(limit.share or 0.5):,} requests that "
                f"{limit.statistic} of {limit.metric} needs",
                remedy=f"Measure more requests, or limit the mean: {limit.metric}<"
                f"{limit.below_s:g}.",
            )
    return found


def _at(
    concurrency: int,
    arms: Sequence[ComparedArm],
    limits: tuple[Limit, ...],
    odd: Mapping[tuple[str, str], tuple[str, ...]],
    lossy: Collection[tuple[str, str, int]],
) -> Recommendation:
    several = len({arm.run for arm in arms}) > 1
    left_out: dict[str, tuple[str, ...]] = {}
    trials: dict[Setting, Sequence[RunResult]] = {}
    for arm in arms:
        if not (ran := arm.at(concurrency)):
            continue
        rates = [
            (rate, block)
            for trial, block in zip(ran, blocks_of(ran), strict=True)
            if (rate := tokens_per_s(trial)) is not None
        ]
        trouble = (*odd.get((arm.run, arm.name), ()), *trouble_at(concurrency, ran))
        if (arm.run, arm.name, concurrency) in lossy:
            trouble = ("its answers are not those of plain decoding", *trouble)
        if trouble or not rates:
            name = f"{arm.run}: {arm.name}" if several else arm.name
            left_out[name] = trouble or ("no tokens",)
            continue
        held = tuple(_hold(limit, ran) for limit in limits)
        throughput = rate_over_visits(*zip(*rates, strict=True))
        trials[Setting(arm.run, arm.name, throughput, held)] = ran
    settings = sorted(trials, key=lambda setting: -setting.tokens_per_s.value)
    best = next((s for met in ("met", "met within noise") for s in settings if s.met == met), None)
    others = [] if best is None else [s for s in settings if s is not best]
    return Recommendation(
        concurrency=concurrency,
        limits=limits,
        best=best,
        settings=tuple(settings),
        rivals=tuple(
            s.arm
            for s in others
            if best is not None and s.met == best.met and _alike(trials[best], trials[s])
        ),
        faster=tuple(
            s.arm
            for s in others
            if best is not None
            and s.tokens_per_s.value > best.tokens_per_s.value
            and s.met in ("met within noise", "missed within noise")
        ),
        left_out=left_out,
    )


def _alike(first: Sequence[RunResult], second: Sequence[RunResult]) -> bool:
    """Whether the trials cannot tell which of the two is faster."""
    ratio = throughput_ratio(first, second)
    return ratio is None or 1.0 in ratio


def _hold(limit: Limit, trials: Sequence[RunResult]) -> Held:
    each = [_times_s(limit, trial) for trial in trials]
    timed = [one for of_trial in each for one in of_trial]
    if not timed or (limit.share is not None and len(timed) < fewest_requests(limit.share)):
        return Held(limit, None, "too few requests")
    times_s, prompts = zip(*timed, strict=True)
    if limit.share is None:
        measured = clustered_mean(times_s, prompts)
    else:
        measured = quantile_interval(times_s, prompts, limit.share)
    alone_s = [
        _statistic(limit, [time_s for time_s, _ in of_trial]) for of_trial in each if of_trial
    ]
    return Held(limit, measured, _met(measured, limit.below_s, alone_s))


def _times_s(limit: Limit, trial: RunResult) -> list[tuple[float, str]]:
    """(time, prompt id) of each request that has one."""
    time_of = _TIMES[limit.metric]
    return [
        (time_s, request.prompt_id)
        for request in trial.completed
        if (time_s := time_of(request)) is not None
    ]


def _statistic(limit: Limit, times_s: Sequence[float]) -> float:
    return float(np.mean(times_s) if limit.share is None else np.quantile(times_s, limit.share))


def _met(measured: Interval, below_s: float, alone_s: Sequence[float]) -> Met:
    """alone_s: of each trial by itself, whose noise the interval over prompts does not hold."""
    if measured.value < below_s:
        sure = measured.high is not None and max(measured.high, *alone_s) < below_s
        return "met" if sure else "met within noise"
    sure = measured.low is not None and min(measured.low, *alone_s) >= below_s
    return "missed" if sure else "missed within noise"
