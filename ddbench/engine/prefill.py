"""Run prompts through the model, a chunk at a time.

A prompt longer than the chunk size is read in pieces, with decode steps of other requests in
between. Short prompts that wait together go together, in one padded window.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ddbench.engine.choice import choose, record_logprobs
from ddbench.engine.drafter import Drafter
from ddbench.engine.generation import Generation
from ddbench.engine.kv_cache import KvCache
from ddbench.engine.target import Target


@dataclass(frozen=True, slots=True)
class PrefillOutcome:
    """first_tokens: of the requests whose prompt is now read to its end, in batch order."""

    new_tokens: int
    first_tokens: list[tuple[Generation, int]]


class Prefill:
    """drafter and draft_cache are None when the server does not draft."""

    def __init__(
        self,
        target: Target,
        cache: KvCache,
        drafter: Drafter | None,
        draft_cache: KvCache | None,
        *,
        chunk_tokens: int,
    ) -> None:
        self._target = target
        self._cache = cache
        self._drafter = drafter
        self._draft_cache = draft_cache
        self._chunk_tokens = chunk_tokens

    def pick(self, waiting: Sequence[Generation]) -> list[Generation]:
        """Who is read next, in order of arrival: a long prompt alone, short ones together.

        The padded window stays within the chunk size. Only first chunks share a window.
        """
        picked: list[Generation] = []
        width = 0
        for generation in waiting:
            width = max(width, generation.prompt_len)
            if picked and (generation.prefix_len or width * (len(picked) + 1) > self._chunk_tokens):
                break
            picked.append(generation)
            if generation.prefix_len:
                break
        return picked

    def run(self, generations: Sequence[Generation]) -> PrefillOutcome:
        """Read one chunk of each prompt; choose the first token where that was the last chunk."""
        now_s = time.time()
        pieces = []
        for generation in generations:
            if generation.forward_entry_s is None:
                generation.forward_entry_s = now_s
            start = generation.prefix_len
            pieces.append(generation.request.prompt_ids[start : start + self._chunk_tokens])
        counts = torch.tensor([len(piece) for piece in pieces])
        width = max(len(piece) for piece in pieces)
        tokens = torch.tensor([[*piece, *[0] * (width - len(piece))] for piece in pieces])
        slots = torch.tensor([generation.slot for generation in generations])
        starts = torch.tensor([generation.prefix_len for generation in generations])

        output = self._target.forward(
            tokens,
            starts[:, None] + torch.arange(width),
            cache=self._cache,
            slots=slots,
            prefix_lens=starts,
            logit_rows=counts - 1,
        )
        if self._drafter is not None and self._draft_cache is not None:
            self._drafter.append_context(
                output.features, cache=self._draft_cache, slots=slots, starts=starts, counts=counts
            )

        first_tokens = []
        done_s = time.time()
        done_rows = []
        for row, (generation, piece) in enumerate(zip(generations, pieces, strict=True)):
            generation.prefix_len += len(piece)
            if generation.prefix_len == generation.prompt_len:
                generation.prefill_finished_s = done_s
                done_rows.append(row)
        if done_rows:
            logits = output.logits[done_rows, 0]  # (done, V)
            done = [generations[row] for row in done_rows]
            for index, (generation, token) in enumerate(
                zip(done, choose(logits, done), strict=True)
            ):
                record_logprobs(generation, logits[index : index + 1], [token])
                first_tokens.append((generation, token))
        return PrefillOutcome(sum(len(piece) for piece in pieces), first_tokens)
