"""Which points of a sweep have been repeated often enough."""

from collections import defaultdict

from ddbench.records import LoadConfig, RepeatRule, RunResult, ServerConfig, Trial
from ddbench.runs.precision import is_precise, measured

Point = tuple[ServerConfig, LoadConfig, int]


class Repeats:
    """What the repeats of a sweep measured so far; without a rule none is ever enough."""

    def __init__(self, rule: RepeatRule | None) -> None:
        self._rule = rule
        self._values: dict[Point, list[float]] = defaultdict(list)
        self._failed: set[Trial] = set()

    def take(self, result: RunResult) -> None:
        if self._rule is None:
            return
        if result.failure is not None:
            self._failed.add(result.trial)
        elif (value := measured(result, self._rule.metric)) is not None:
            self._failed.discard(result.trial)
            self._values[_point(result.trial)].append(value)

    def are_enough(self, trial: Trial) -> bool:
        """For a further one to be spared; a trial that failed never is."""
        if self._rule is None or trial in self._failed:
            return False
        return is_precise(self._values[_point(trial)], self._rule.within)


def _point(trial: Trial) -> Point:
    """What repeats repeat."""
    return trial.server, trial.load, trial.visit
