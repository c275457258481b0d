"""DFLASH: draft a block, verify it in one forward, keep what the target agrees to."""

from collections.abc import Sequence

import torch

from ddbench.engine.choice import record_logprobs
from ddbench.engine.drafter import Drafter
from ddbench.engine.generation import Generation
from ddbench.engine.kv_cache import KvCache
from ddbench.engine.planted.seams import Seams
from ddbench.engine.steps import BatchTensors, StepOutcome, chain, path_choices
from ddbench.engine.target import Target
from ddbench.reference.verify import linear_accept, sample_and_walk


class LinearStep:
    def __init__(
        self,
        target: Target,
        drafter: Drafter,
        cache: KvCache,
        draft_cache: KvCache,
        seams: Seams | None = None,
    ) -> None:
        self._target = target
        self._drafter = drafter
        self._cache = cache
        self._draft_cache = draft_cache
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
        logits = self._seams.logits(output.logits)
        choice = logits.argmax(dim=-1)  # (n, W)

        outcomes = []
        for row, generation in enumerate(generations):
            tree = chain(window[row].tolist(), best.values[row].tolist())
            target: list[int | None]
            if generation.generator is None:
                correct, bonus = linear_accept(best.indices[row], choice[row])
                target = choice[row].tolist()
            else:
                path, bonus = sample_and_walk(
                    tree,
                    logits[row],
                    generation.request.sampling.temperature,
                    generation.generator,
                )
                correct = len(path)
            accepted = list(range(1, correct + 1))
            tokens = [*window[row, 1 : correct + 1].tolist(), bonus]
            if generation.generator is not None:
                target = path_choices(window.shape[1], accepted, tokens)
            record_logprobs(generation, logits[row, : correct + 1], tokens)
            outcomes.append(
                StepOutcome(generation, generation.prefix_len, tree, accepted, tokens, target)
            )
            generation.prefix_len += correct + 1

        self._drafter.append_context(
            output.features,
            cache=self._draft_cache,
            slots=batch.slots,
            starts=batch.prefix_lens,
            counts=torch.tensor([len(outcome.tokens) for outcome in outcomes]),
        )
        return outcomes
