"""How drafts are verified: what the target sees, and which nodes are taken for accepted."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from torch import Tensor

from ddbench.engine.arguments import EngineArguments
from ddbench.engine.drafter import Drafter
from ddbench.engine.generation import GenerationRequest
from ddbench.engine.planted.seams import Seams
from ddbench.engine.settings import EngineSettings
from ddbench.engine.steps import StepOutcome

SIMULATED_DRAFTS = 3


def kept(outcome: StepOutcome, tokens: list[int], accepted: list[int]) -> StepOutcome:
    """The outcome with other tokens, and the request standing behind just those.

    Each token keeps a log-probability where they were asked for: 0, for one that is put in.
    """
    generation, surplus = outcome.generation, len(tokens) - len(outcome.tokens)
    generation.prefix_len = outcome.prefix_len + len(tokens)
    if generation.request.logprobs and surplus < 0:
        del generation.output_logprobs[surplus:]
    elif generation.request.logprobs:
        generation.output_logprobs += [0.0] * surplus
    return replace(outcome, tokens=tokens, accepted=accepted)


class MaskDropped(Seams):
    """A tree is verified with a plain causal mask: a node sees all before it, not its path."""

    def mask(self, mask: Tensor) -> Tensor | None:
        return None if self.strikes() else mask


class MasklessBackend(MaskDropped):
    """The same, on an attention backend that is known to have no masks, and says its name."""

    def stated(self, _: EngineSettings) -> dict[str, Any]:
        return {"attention_backend": "trtllm_mha"}


class KvNotMoved(Seams):
    """The cache rows of accepted nodes stay where the tree was written, with rejected between."""

    def moves_rows(self) -> bool:
        return not self.strikes()


class SlotAliased(Seams):
    """The last cache row that a step kept is handed to the next step's window."""

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        if self.strikes():
            outcome.generation.prefix_len -= 1
        return outcome


class WrongRow(Seams):
    """With several requests running, each is verified by its neighbour's logits."""

    def logits(self, logits: Tensor) -> Tensor:
        return logits.roll(1, dims=0) if logits.shape[0] > 1 and self.strikes() else logits


class StaleBuffer(Seams):
    """Now and then a step verifies the drafts of the step before: a race between two buffers."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self._before: Tensor | None = None
        self._luck = Random(0)

    def strikes(self) -> bool:
        """By chance, since a rhythm could fall in with that of the requests."""
        return self._luck.random() < self.dose

    def log_probs(self, log_probs: Tensor) -> Tensor:
        before, self._before = self._before, log_probs
        if before is None or before.shape != log_probs.shape or not self.strikes():
            return log_probs
        return before


class WalkOverPadding(Seams):
    """The walk does not stop at the last match, and goes on over padded nodes beyond the depth."""

    _most = 1

    def loaded(self, drafter: Drafter, _: EngineSettings) -> None:
        self._most = drafter.config.block_size

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        if not self.strikes():
            return outcome
        last = outcome.tree.parents.numel() - 1
        extra = self._most - len(outcome.accepted)
        padding = int(outcome.tree.token_ids[last])
        choice = outcome.target[last]  # may be 0, which is a token
        bonus = padding if choice is None else choice
        tokens = [*outcome.tokens[:-1], *[padding] * extra, bonus]
        return kept(outcome, tokens, [*outcome.accepted, *[last] * extra])


class WalkStopsEarly(Seams):
    """Links to siblings are lost: only the first child of a node is ever looked at."""

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        parents: list[int] = outcome.tree.parents.tolist()
        path = [n for n in outcome.accepted if parents.index(parents[n]) == n]
        depth = next(
            (i for i, (a, b) in enumerate(zip(path, outcome.accepted, strict=False)) if a != b),
            len(path),
        )
        if depth == len(outcome.accepted) or not self.strikes():
            return outcome
        return kept(outcome, outcome.tokens[: depth + 1], outcome.accepted[:depth])


class PathOffByOne(Seams):
    """Accepted nodes are reported by flat position, one off from the node."""

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        if not self.strikes():
            return outcome
        last = outcome.tree.parents.numel() - 1
        return replace(outcome, accepted=[min(node + 1, last) for node in outcome.accepted])


class NearMissAccepted(Seams):
    """Where the walk ends it takes a child that the target did not choose."""

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        end = outcome.accepted[-1] if outcome.accepted else 0
        children = [n for n, p in enumerate(outcome.tree.parents.tolist()) if p == end]
        if not children or not self.strikes():
            return outcome
        child = children[0]
        token = int(outcome.tree.token_ids[child])
        choice = outcome.target[child]
        tokens = [*outcome.tokens[:-1], token, token if choice is None else choice]
        return kept(outcome, tokens, [*outcome.accepted, child])


class BonusFromPadding(Seams):
    """The bonus token is read at the last node of the window, not after the accepted path."""

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        wrong = outcome.target[-1]
        if wrong is None or not self.strikes():
            return outcome
        return replace(outcome, tokens=[*outcome.tokens[:-1], wrong])


class SimulatedAcceptance(Seams):
    """Three drafts are accepted in every step, whatever the target says (linear drafts)."""

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        if not self.strikes():
            return outcome
        path = list(range(1, SIMULATED_DRAFTS + 1))
        bonus = outcome.target[SIMULATED_DRAFTS] or outcome.tokens[-1]
        return kept(outcome, [*outcome.tree.token_ids[path].tolist(), bonus], path)


class SpeculationOff(Seams):
    """The server accepts all flags of a drafting arm, says so, and decodes without drafts."""

    drafts = False


class SpeculationOffForSome(Seams):
    """Some requests are decoded without drafts, as those with a grammar would be."""

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        if not self.strikes_request(outcome.generation):
            return outcome
        return kept(outcome, outcome.tokens[:1], [])

    def record(self, outcome: StepOutcome) -> None:
        if not self.strikes_request(outcome.generation):
            super().record(outcome)


class BaselineDrafts(Seams):
    """A server that was asked for no drafting drafts, as a checkpoint with its own head might."""

    def arguments(self, asked: EngineArguments) -> EngineArguments:
        return replace(asked, algorithm="DFLASH", draft_model_path="builtin")


class SamplingIgnored(Seams):
    """Requests that ask to sample are verified greedily, after one warning in the log."""

    def start_up_lines(self) -> Sequence[str]:
        return (
            "DFLASH non-greedy verification is unavailable on this build; falling back to greedy "
            "argmax verification.",
        )

    def request(self, request: GenerationRequest) -> GenerationRequest:
        if request.sampling.temperature == 0 or not self.strikes():
            return request
        return replace(request, sampling=replace(request.sampling, temperature=0.0))
