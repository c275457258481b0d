"""DFLASH that commits one token a step, and records what was drafted at each.

Drafts are verified as LinearStep verifies them, in one window of the block size, and then none is
kept: the drafter runs after every token of the answer, and the answer stays the target's own.
"""

from collections.abc import Sequence

import torch

from ddbench.draft_records import DraftRecorder
from ddbench.engine.choice import choose, record_logprobs
from ddbench.engine.drafter import Drafter
from ddbench.engine.generation import Generation
from ddbench.engine.kv_cache import KvCache
from ddbench.engine.planted.seams import Seams
from ddbench.engine.steps import BatchTensors, StepOutcome, chain
from ddbench.engine.target import Target


class RecordingStep:
    def __init__(
        self,
        target: Target,
        drafter: Drafter,
        cache: KvCache,
        draft_cache: KvCache,
        recorder: DraftRecorder,
        seams: Seams | None = None,
    ) -> None:
        self._target = target
        self._drafter = drafter
        self._cache = cache
        self._draft_cache = draft_cache
        self._recorder = recorder
        self._seams = seams or Seams()

    def run(self, generations: Sequence[Generation]) -> list[StepOutcome]:
        batch = BatchTensors.of(generations)
        log_probs = self._seams.log_probs(
            self._drafter.draft(
                batch.roots, batch.prefix_lens, cache=self._draft_cache, slots=batch.slots
            )
        )  # (n, L, V)
        best = log_probs.max(dim=-1)
        window = torch.cat((batch.roots[:, None], best.indices), dim=1)  # (n, W)
        output = self._target.forward(
            window,
            batch.prefix_lens[:, None] + torch.arange(window.shape[1]),
            cache=self._cache,
            slots=batch.slots,
            prefix_lens=batch.prefix_lens,
        )
        choices = choose(output.logits[:, 0], generations)
        top = log_probs.topk(self._recorder.topk, dim=-1)

        outcomes = []
        for row, (generation, choice) in enumerate(zip(generations, choices, strict=True)):
            self._recorder.write(
                rid=generation.request.rid,
                prompt_len=generation.prompt_len,
                position=generation.prefix_len - generation.prompt_len,
                root=generation.output_ids[-1],
                choice=choice,
                token_ids=top.indices[row].numpy(),
                log_probs=top.values[row].numpy(),
            )
            record_logprobs(generation, output.logits[row, :1], [choice])
            outcomes.append(
                StepOutcome(
                    generation=generation,
                    prefix_len=generation.prefix_len,
                    tree=chain(window[row].tolist(), best.values[row].tolist()),
                    accepted=[],
                    tokens=[choice],
                    target=[choice, *[None] * (window.shape[1] - 1)],
                )
            )
            generation.prefix_len += 1
        self._recorder.flush()

        self._drafter.append_context(
            output.features[:, :1],
            cache=self._draft_cache,
            slots=batch.slots,
            starts=batch.prefix_lens,
            counts=torch.ones_like(batch.prefix_lens),
        )
        return outcomes
