"""What is committed and written: tokens that are lost, added or repeated."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ddbench.engine.commit import StopRules
from ddbench.engine.generation import Generation, GenerationRequest
from ddbench.engine.planted.seams import Seams
from ddbench.engine.planted.verification import kept
from ddbench.engine.steps import StepOutcome
from ddbench.reference.tree import DraftTree

LOOP = (320, 410, 530, 640)
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class ContiguousPrefix(Seams):
    """Only nodes that follow the root without a gap are committed, however deep the walk went."""

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        path = outcome.accepted
        whole = next((i for i, node in enumerate(path) if node != i + 1), len(path))
        if whole == len(path) or not self.strikes():
            return outcome
        return kept(outcome, outcome.tokens[: whole + 1], path)


class BonusLost(Seams):
    """The bonus token is dropped: a step commits its accepted drafts alone."""

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        if len(outcome.tokens) == 1 or not self.strikes():
            return outcome
        return kept(outcome, outcome.tokens[:-1], outcome.accepted)


class _Uncut(Seams):
    """Append what a cut at `kind` would have dropped."""

    kind = ""

    def commit(self, generation: Generation, tokens: Sequence[int], rules: StopRules) -> int:
        appended = super().commit(generation, tokens, rules)
        finish = generation.finish
        if appended == len(tokens) or finish is None or finish.kind != self.kind:
            return appended
        if not self.strikes():
            return appended
        generation.output_ids += tokens[appended:]
        generation.committed_drafts += len(tokens) - appended
        return len(tokens)


class EosNotCut(_Uncut):
    """Accepted tokens behind the end-of-text token are kept, and counted."""

    kind = "stop"


class LengthNotCut(_Uncut):
    """The last block of an answer is not cut at max_new_tokens."""

    kind = "length"


class PromptPrefixed(Seams):
    """Every prompt gets one token more, as from another chat template."""

    def request(self, request: GenerationRequest) -> GenerationRequest:
        if not self.strikes():
            return request
        return replace(request, prompt_ids=(request.prompt_ids[0], *request.prompt_ids))


class RepetitionLoop(Seams):
    """The model runs in a circle of four tokens, and the drafter with it (linear drafts)."""

    loop: tuple[int, ...] = LOOP

    def outcome(self, outcome: StepOutcome) -> StepOutcome:
        if not self.strikes_request(outcome.generation):
            return outcome
        width = outcome.tree.parents.numel()
        written = len(outcome.generation.output_ids)
        tokens = [self.loop[(written + i) % len(self.loop)] for i in range(width)]
        token_ids = torch.tensor([int(outcome.tree.token_ids[0]), *tokens[:-1]])
        tree = DraftTree(token_ids, outcome.tree.parents, outcome.tree.log_weights)
        looped = kept(outcome, tokens, list(range(1, width)))
        return replace(looped, tree=tree, target=list(tokens))


class OneToken(RepetitionLoop):
    """The same with a single token, which is what a target full of NaNs writes."""

    loop = LOOP[:1]


class TextGarbled(Seams):
    """Tokens do not combine into characters; the dose is the share of them that is lost."""

    def answer(self, chunk: dict[str, Any]) -> dict[str, Any]:
        text = "".join(
            REPLACEMENT if int((i + 1) * self.dose) > int(i * self.dose) else character
            for i, character in enumerate(chunk["text"])
        )
        return {**chunk, "text": text}


class RequestsAborted(Seams):
    """The server gives up on requests that it has almost answered."""

    def answer(self, chunk: dict[str, Any]) -> dict[str, Any]:
        if chunk["meta_info"]["finish_reason"] is None or not self.strikes():
            return chunk
        reason = {"type": "abort", "message": "Aborted by the scheduler"}
        return {**chunk, "meta_info": {**chunk["meta_info"], "finish_reason": reason}}
