"""From a sweep plan to its trials, and to the launches they share. Pure: no files, no processes."""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

from ddbench.errors import PlanError
from ddbench.records import LoadConfig, ServerConfig, SweepPlan, Trial

Item = TypeVar("Item")


def expand(plan: SweepPlan, *, seed: int | None = None) -> list[Trial]:
    """Every trial, in the order it is run: visit, server, repeat, concurrency.

    Launching a server is the slowest step, so it is outermost but for the visits; repeats are
    outside concurrencies, so that slow drift hits every point alike. Odd visits go through the
    servers backwards (A-B-B-A), so that steady drift cancels between two arms. A server that
    records drafts runs once, in the first visit: its text does not depend on the load, and nobody
    times it.

    seed: shuffles the servers of every other visit, and the concurrencies of every repeat; the
    trials are the same ones.
    """
    shuffled = _shuffle(seed)
    orders = [
        shuffled(list(zip(plan.arms, plan.servers, strict=True)))
        for _ in range((plan.visits + 1) // 2)
    ]
    return [
        Trial(arm=arm.name, server=server, load=load, repeat=repeat, visit=visit)
        for visit in range(plan.visits)
        for arm, server in (orders[visit // 2] if visit % 2 == 0 else reversed(orders[visit // 2]))
        if not (server.record_drafts and visit)
        for repeat in range(1 if server.record_drafts else plan.repeats)
        for load in shuffled(_recording(plan) if server.record_drafts else plan.loads)
    ]


def of_arms(trials: Sequence[Trial], arms: Collection[str]) -> list[Trial]:
    """The trials of these arms, in their order. Raises PlanError for an arm that there is not."""
    names = list(dict.fromkeys(trial.arm for trial in trials))
    if strangers := [arm for arm in arms if arm not in names]:
        raise PlanError(
            f"the sweep has no arm {strangers[0]!r}", remedy=f"Choose among {', '.join(names)}."
        )
    return [trial for trial in trials if trial.arm in arms]


def _shuffle(seed: int | None) -> Callable[[Sequence[Item]], list[Item]]:
    """A function that shuffles, or that does not without a seed."""
    if seed is None:
        return list
    source = random.Random(seed)
    return lambda items: source.sample(items, len(items))


def _recording(plan: SweepPlan) -> tuple[LoadConfig]:
    return (replace(plan.loads[0], record_drafts=True),)


def by_launch(trials: Sequence[Trial]) -> Iterator[tuple[ServerConfig, list[Trial]]]:
    """Runs of trials that one launch serves: same visit, equal server config, one after another."""
    for (_, server), group in groupby(trials, key=lambda trial: (trial.visit, trial.server)):
        yield server, list(group)
