"""Which trials of a plan to run now, and in which order."""

from dataclasses import dataclass

from ddbench.plan.expand import expand, of_arms
from ddbench.records import SweepPlan, Trial


@dataclass(frozen=True, slots=True)
class Selection:
    """The rest is for another `--resume`."""

    arms: tuple[str, ...] | None = None
    limit: int | None = None  # at most so many trials
    seed: int | None = None  # of a random order

    def of(self, plan: SweepPlan) -> list[Trial]:
        trials = expand(plan, seed=self.seed)
        return trials if self.arms is None else of_arms(trials, self.arms)


EVERYTHING = Selection()
