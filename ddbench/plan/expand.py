"""From a sweep plan to its trials, and to the launches they share. Pure: no files, no processes."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from ddbench.records import ServerConfig, SweepPlan, Trial


def expand(plan: SweepPlan) -> list[Trial]:
    """Every trial, in the order it is run: visit, server, repeat, concurrency.

    Launching a server is the slowest step, so it is outermost but for the visits; repeats are
    outside concurrencies, so that slow drift hits every point alike. Odd visits go through the
    servers backwards (A-B-B-A), so that steady drift cancels between two arms.
    """
    arms = list(zip(plan.arms, plan.servers, strict=True))
    return [
        Trial(arm=arm.name, server=server, load=load, repeat=repeat, visit=visit)
        for visit in range(plan.visits)
        for arm, server in (arms if visit % 2 == 0 else reversed(arms))
        for repeat in range(plan.repeats)
        for load in plan.loads
    ]


def by_launch(trials: Sequence[Trial]) -> Iterator[tuple[ServerConfig, list[Trial]]]:
    """Runs of trials that one launch serves: same visit, equal server config, one after another."""
    for (_, server), group in groupby(trials, key=lambda trial: (trial.visit, trial.server)):
        yield server, list(group)
