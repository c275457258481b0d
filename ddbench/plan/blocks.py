"""Which trials of a sweep have to run on one host, for arms to be compared host by host."""

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from ddbench.plan.expand import by_launch
from ddbench.records import Trial

Spread = Literal["visits", "launches"]


def blocks(trials: Sequence[Trial], spread: Spread) -> list[list[Trial]]:
    """The trials in parts that hosts take one at a time, each in the order of `trials`.

    visits: a visit, with all its arms, stays on one host: the difference between hosts is then no
    difference between arms. launches: every launch goes to the next free host, which is quicker and
    leaves the two mixed up. Trials of a server that someone else runs are one block in any case:
    two hosts must not load it at once.
    """
    attached = [trial for trial in trials if trial.server.engine == "attach"]
    ours = [trial for trial in trials if trial.server.engine != "attach"]
    if spread == "visits":
        parts = [list(group) for _, group in groupby(ours, key=lambda trial: trial.visit)]
    else:
        parts = [group for _, group in by_launch(ours)]
    return [*parts, *([attached] if attached else [])]
