"""Did the machine change between the visits, and how much do launches differ?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from statistics import fmean

from ddbench.compare.arms import ComparedArm
from ddbench.compare.gate import trouble_at
from ddbench.compare.measures import tokens_per_s
from ddbench.compare.verdicts import detectable_sentence, is_known
from ddbench.records import RunResult
from ddbench.stats.interval import Interval
from ddbench.stats.mean import mean_interval
from ddbench.stats.pairs import ratio_of_pairs
from ddbench.stats.visits import exponential

OVER_SERVERS = "Student's t on logs over servers"


@dataclass(frozen=True, slots=True)
class ServerDrift:
    """tok/s of one arm at one concurrency, last visit over first; n counts pairs of repeats."""

    run: str
    arm: str
    concurrency: int
    ratio: Interval


@dataclass(frozen=True, slots=True)
class Drift:
    """Between the first and the last visit, above 1 where the last was faster.

    overall: what all servers share, each counted once over its concurrencies; its spread is that of
    two launches of one server, so n counts servers.
    """

    visits: int
    overall: Interval
    servers: tuple[ServerDrift, ...]

    @property
    def sentence(self) -> str:
        change = self.overall.value - 1.0
        if not is_known(self.overall) or self.overall.low is None or self.overall.high is None:
            return f"tok/s changed by {change:+.1%} between visits; one server allows no interval"
        low, high = self.overall.low - 1.0, self.overall.high - 1.0
        text = (
            f"tok/s changed by {change:+.1%} [{low:+.1%}, {high:+.1%}] between the first and the "
            f"last visit, over {self.overall.n} servers"
        )
        if low <= 0.0 <= high:
            return f"{text}: no drift seen ({detectable_sentence(self.overall)})"
        return f"{text}: the machine drifted"


def drift(arms: Sequence[ComparedArm]) -> Drift | None:
    """None where no arm was measured in two visits."""
    servers = [found for arm in arms for found in _of_arm(arm)]
    if not servers:
        return None
    logs: dict[tuple[str, str], list[float]] = {}
    for one in servers:
        logs.setdefault((one.run, one.arm), []).append(log(one.ratio.value))
    overall = mean_interval([fmean(of_server) for of_server in logs.values()])
    return Drift(
        visits=max(len({trial.trial.visit for trial in arm.trials}) for arm in arms),
        overall=exponential(overall, method=OVER_SERVERS),
        servers=tuple(servers),
    )


def _of_arm(arm: ComparedArm) -> Iterator[ServerDrift]:
    """Between the visits of one host: two hosts differ, and that is no drift.

    Trials that cannot stand for their arm are left out: a failed request is none either.
    """
    hosts = list(dict.fromkeys(trial.host for trial in arm.trials))
    for concurrency, host in product(arm.concurrencies, hosts):
        trials = [
            trial
            for trial in arm.at(concurrency)
            if trial.host == host and not trouble_at(concurrency, [trial])
        ]
        visits = sorted({trial.trial.visit for trial in trials})
        if len(visits) < 2:
            continue
        first, last = (_rates(trials, visit) for visit in (visits[0], visits[-1]))
        if shared := sorted(first.keys() & last.keys()):
            ratio = ratio_of_pairs([last[r] for r in shared], [first[r] for r in shared])
            yield ServerDrift(arm.run, arm.name, concurrency, ratio)


def _rates(trials: Sequence[RunResult], visit: int) -> dict[int, float]:
    """repeat -> tok/s"""
    return {
        trial.trial.repeat: rate
        for trial in trials
        if trial.trial.visit == visit and (rate := tokens_per_s(trial)) is not None
    }
