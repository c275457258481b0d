"""How the server runs: what waits, what is admitted, what is said of graphs and the cache."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ddbench.engine.batch_log import Means, Occupancy
from ddbench.engine.generation import Generation
from ddbench.engine.planted.seams import Seams
from ddbench.engine.settings import EngineSettings
from ddbench.engine.steps import StepOutcome

STALL_S = 0.1
HIDDEN_S = 0.1


class StepsStall(Seams):
    """Every step waits, as one that runs outside its graph does."""

    def before_step(self, _: Sequence[Generation]) -> None:
        if self.strikes():
            time.sleep(STALL_S)


class SlowAlone(Seams):
    """Steps of a single request wait: its batch size has no graph."""

    def before_step(self, batch: Sequence[Generation]) -> None:
        if len(batch) == 1 and self.strikes():
            time.sleep(STALL_S)


class PausesHidden(Seams):
    """Steps wait, and the logged throughput leaves the waiting out."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self._hidden_s = 0.0
        self._logged_s = time.perf_counter()

    def before_step(self, _: Sequence[Generation]) -> None:
        if self.strikes():
            time.sleep(HIDDEN_S)
            self._hidden_s += HIDDEN_S

    def means(self, means: Means) -> Means:
        now_s = time.perf_counter()
        elapsed_s, self._logged_s = now_s - self._logged_s, now_s
        shown_s, self._hidden_s = max(elapsed_s - self._hidden_s, 0.001), 0.0
        return replace(means, throughput_per_s=means.throughput_per_s * elapsed_s / shown_s)


class RunningLimitLowered(Seams):
    """The limit on running requests is resolved to 1, as when memory is short."""

    def slots(self, _: int) -> int:
        return 1

    def stated(self, _: EngineSettings) -> dict[str, Any]:
        return {"max_running_requests": 1}


class SlotsLeak(Seams):
    """Cache slots of rejected nodes are never given back."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self._leaked = 0

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        if self.strikes():
            self._leaked += outcome.tree.parents.numel() - len(outcome.accepted) - 1
        return outcome

    def occupancy(self, occupancy: Occupancy) -> Occupancy:
        used = min(occupancy.used_tokens + self._leaked, occupancy.total_tokens)
        return replace(occupancy, used_tokens=used)


class GraphFlagOff(Seams):
    """Windows ran from a graph, but for those that the dose names."""

    def means(self, means: Means) -> Means:
        return replace(means, graph=not self.strikes())
