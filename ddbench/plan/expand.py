"""From a sweep plan to its trials, and to the launches they share. Pure: no files, no processes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from ddbench.records import LoadConfig, ServerConfig, SweepPlan, Trial


def expand(plan: SweepPlan) -> list[Trial]:
    """Every trial, in the order it is run: visit, server, repeat, concurrency.

    Launching a server is the slowest step, so it is outermost but for the visits; repeats are
    outside concurrencies, so that slow drift hits every point alike. Odd visits go through the
    servers backwards (A-B-B-A), so that steady drift cancels between two arms. A server that
    records drafts runs once, in the first visit: its text does not depend on the load, and nobody
    times it.
    """
    arms = list(zip(plan.arms, plan.servers, strict=True))
    return [
        Trial(arm=arm.name, server=server, load=load, repeat=repeat, visit=visit)
        for visit in range(plan.visits)
        for arm, server in (arms if visit % 2 == 0 else reversed(arms))
        if not (server.record_drafts and visit)
        for repeat in range(1 if server.record_drafts else plan.repeats)
        for load in (_recording(plan) if server.record_drafts else plan.loads)
    ]


def _recording(plan: SweepPlan) -> tuple[LoadConfig]:
    return (replace(plan.loads[0], record_drafts=True),)


def by_launch(trials: Sequence[Trial]) -> Iterator[tuple[ServerConfig, list[Trial]]]:
    """Runs of trials that one launch serves: same visit, equal server config, one after another."""
    for (_, server), group in groupby(trials, key=lambda trial: (trial.visit, trial.server)):
        yield server, list(group)
