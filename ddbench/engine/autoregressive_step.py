"""One token a step, without drafts."""

from collections.abc import Sequence

from ddbench.engine.choice import choose, record_logprobs
from ddbench.engine.generation import Generation
from ddbench.engine.kv_cache import KvCache
from ddbench.engine.steps import BatchTensors, StepOutcome, chain
from ddbench.engine.target import Target


class AutoregressiveStep:
    def __init__(self, target: Target, cache: KvCache) -> None:
        self._target = target
        self._cache = cache

    def run(self, generations: Sequence[Generation]) -> list[StepOutcome]:
        batch = BatchTensors.of(generations)
        output = self._target.forward(
            batch.roots[:, None],
            batch.prefix_lens[:, None],
            cache=self._cache,
            slots=batch.slots,
            prefix_lens=batch.prefix_lens,
        )
        logits = output.logits[:, 0]  # (n, V)

        outcomes = []
        for row, (generation, token) in enumerate(
            zip(generations, choose(logits, generations), strict=True)
        ):
            record_logprobs(generation, logits[row : row + 1], [token])
            outcomes.append(
                StepOutcome(
                    generation=generation,
                    prefix_len=generation.prefix_len,
                    tree=chain([generation.output_ids[-1]], []),
                    accepted=[],
                    tokens=[token],
                    target=[token],
                )
            )
            generation.prefix_len += 1
        return outcomes
