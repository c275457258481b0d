"""Every place at which a fault can be planted. As it stands here, the server is healthy."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from ddbench.engine.arguments import EngineArguments
from ddbench.engine.batch_log import Means, Occupancy
from ddbench.engine.commit import StopRules, commit
from ddbench.engine.counters import RequestCounters
from ddbench.engine.drafter import Drafter
from ddbench.engine.generation import Generation, GenerationRequest
from ddbench.engine.settings import EngineSettings
from ddbench.engine.steps import StepOutcome
from ddbench.reference.tree import DraftTree, build_tree


class Seams:
    """A fault is a subclass that overrides the few methods at which it sits.

    dose: the share of occasions on which `strikes` says yes, evenly spread.
    """

    drafts = True  # False: what was asked for is stated and not done

    def __init__(self, dose: float = 1.0) -> None:
        self.dose = dose
        self._due = 0.0
        self._struck: dict[str, bool] = {}

    def strikes(self) -> bool:
        self._due += self.dose
        if self._due < 1.0 - 1e-9:
            return False
        self._due -= 1.0
        return True

    def strikes_request(self, generation: Generation) -> bool:
        """The same answer for all steps of a request."""
        rid = generation.request.rid
        if rid not in self._struck:
            self._struck[rid] = self.strikes()
        return self._struck[rid]

    # ------------------------------------------------------------ starting

    def arguments(self, asked: EngineArguments) -> EngineArguments:
        return asked

    def loaded(self, drafter: Drafter, settings: EngineSettings) -> None:
        """Note or change a drafter that has just been loaded; settings no longer follow it."""

    def stated(self, _: EngineSettings) -> dict[str, Any]:
        """What /server_info and the first log line say instead."""
        return {}

    def start_up_lines(self) -> Sequence[str]:
        return ()

    # ------------------------------------------------------------ scheduling

    def request(self, request: GenerationRequest) -> GenerationRequest:
        return request

    def slots(self, asked: int) -> int:
        return asked

    def before_step(self, _: Sequence[Generation]) -> None:
        """Called in the model's thread, just before a decode step."""

    # ------------------------------------------------------------ a step

    def log_probs(self, log_probs: Tensor) -> Tensor:
        """(n, L, V) of the drafter."""
        return log_probs

    def tree(self, root: int, log_probs: Tensor, topk: int, budget: int) -> DraftTree:
        """log_probs: (L, V) of the drafter."""
        best = log_probs.topk(topk, dim=-1)
        return build_tree(root, best.values, best.indices, budget)

    def mask(self, mask: Tensor) -> Tensor | None:
        """(n, W, W); None is causal."""
        return mask

    def logits(self, logits: Tensor) -> Tensor:
        """(n, W, V) of the target over a drafted window."""
        return logits

    def moves_rows(self) -> bool:
        """Whether the cache rows of an accepted path are moved together."""
        return True

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        """One request's step; the generation already stands behind it."""
        return outcome

    def commit(self, generation: Generation, tokens: Sequence[int], rules: StopRules) -> int:
        return commit(generation, tokens, rules)

    # ------------------------------------------------------------ counting

    def record(self, outcome: StepOutcome) -> None:
        outcome.generation.record_verify(len(outcome.accepted))

    def count(self, counters: RequestCounters, generation: Generation) -> None:
        """A request that has ended."""
        counters.count(generation)

    def occupancy(self, occupancy: Occupancy) -> Occupancy:
        return occupancy

    def means(self, means: Means) -> Means:
        """What a decode line is about to say."""
        return means

    def tokens_kept_by_flush(self, _: int) -> int:
        return 0

    def trace_line(self, line: dict[str, Any]) -> dict[str, Any]:
        return line

    def answer(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """One chunk of /generate, the last of which has a finish_reason."""
        return chunk
