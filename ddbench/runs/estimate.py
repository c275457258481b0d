"""How long trials that are not done will take, from those that are."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ddbench.records import Launch, LoadConfig, RunResult, ServerConfig, Trial


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of what was measured before, and how much of what is ahead resembles none of it.

    borrowed: trials whose time is that of another arm at the same load, the slowest one.
    """

    known_s: float
    unknown_launches: int
    borrowed: int
    unknown_trials: int


def estimate(
    ahead: Iterable[tuple[ServerConfig, Sequence[Trial]]],
    launches: Iterable[Launch],
    results: Iterable[RunResult],
) -> Estimate:
    """The launches and trials ahead, at the mean cost of the same ones so far. Without warm-ups,
    which are not measured."""
    startups = _means((each.server, each.startup_s) for each in launches)
    measured = [(each.trial, each.wall_s) for each in results if each.failure is None]
    same = _means(((trial.server, trial.load), wall_s) for trial, wall_s in measured)
    slowest: dict[LoadConfig, float] = {}
    for (_, load), wall_s in same.items():
        slowest[load] = max(wall_s, slowest.get(load, 0.0))
    known_s = 0.0
    unknown_launches = borrowed = unknown_trials = 0
    for server, trials in ahead:
        known_s += startups.get(server, 0.0)
        unknown_launches += server not in startups
        for trial in trials:
            if (server, trial.load) in same:
                known_s += same[server, trial.load]
            elif trial.load in slowest:
                known_s += slowest[trial.load]
                borrowed += 1
            else:
                unknown_trials += 1
    return Estimate(known_s, unknown_launches, borrowed, unknown_trials)


def _means(pairs: Iterable[tuple[Any, float | None]]) -> dict[Any, float]:
    values = defaultdict(list)
    for key, value in pairs:
        if value is not None:
            values[key].append(value)
    return {key: fmean(found) for key, found in values.items()}
