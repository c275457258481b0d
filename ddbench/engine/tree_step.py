"""DDTREE: draft a tree of guesses, verify all of it in one forward, keep one path.

The nodes of a tree stand in consecutive cache rows behind the prefix, in the order they were built.
Those of the accepted path are moved together before the next step, or it would read the rejected.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ddbench.engine.choice import record_logprobs
from ddbench.engine.drafter import Drafter
from ddbench.engine.generation import Generation
from ddbench.engine.kv_cache import KvCache
from ddbench.engine.planted.seams import Seams
from ddbench.engine.steps import BatchTensors, StepOutcome, path_choices
from ddbench.engine.target import Target
from ddbench.reference.tree import DraftTree, ancestor_mask, depths
from ddbench.reference.verify import greedy_walk, sample_and_walk


class TreeStep:
    def __init__(
        self,
        target: Target,
        drafter: Drafter,
        cache: KvCache,
        draft_cache: KvCache,
        *,
        budget: int,
        topk: int,
        seams: Seams | None = None,
    ) -> None:
        self._target = target
        self._drafter = drafter
        self._cache = cache
        self._draft_cache = draft_cache
        self._budget = budget
        self._topk = topk
        self._seams = seams or Seams()

    def run(self, generations: Sequence[Generation]) -> list[StepOutcome]:
        batch = BatchTensors.of(generations)
        trees = self._draft(batch)
        window, node_depths, mask = _stack(trees)
        output = self._target.forward(
            window,
            batch.prefix_lens[:, None] + node_depths,
            cache=self._cache,
            slots=batch.slots,
            prefix_lens=batch.prefix_lens,
            window_mask=self._seams.mask(mask),
        )
        logits = self._seams.logits(output.logits)
        choice = logits.argmax(dim=-1)  # (n, W)

        outcomes = []
        for row, (generation, tree) in enumerate(zip(generations, trees, strict=True)):
            nodes = tree.parents.numel()
            accepted, bonus = _walk(generation, tree, choice[row, :nodes], logits[row, :nodes])
            tokens = [*tree.token_ids[accepted].tolist(), bonus]
            target: list[int | None] = (
                choice[row, :nodes].tolist()
                if generation.generator is None
                else path_choices(nodes, accepted, tokens)
            )
            record_logprobs(generation, logits[row, [0, *accepted]], tokens)
            outcomes.append(
                StepOutcome(generation, generation.prefix_len, tree, accepted, tokens, target)
            )

        self._keep_paths(batch, outcomes, output.features)
        return outcomes

    def _draft(self, batch: BatchTensors) -> list[DraftTree]:
        log_probs = self._seams.log_probs(
            self._drafter.draft(
                batch.roots, batch.prefix_lens, cache=self._draft_cache, slots=batch.slots
            )
        )  # (n, L, V)
        return [
            self._seams.tree(root, log_probs[row], self._topk, self._budget)
            for row, root in enumerate(batch.roots.tolist())
        ]

    def _keep_paths(
        self, batch: BatchTensors, outcomes: Sequence[StepOutcome], features: Tensor
    ) -> None:
        """Close the gaps in the target's cache and give the accepted features to the drafter."""
        longest = max(len(outcome.tokens) for outcome in outcomes)
        paths = torch.zeros(len(outcomes), longest, dtype=torch.int64)  # node indices, root first
        for row, outcome in enumerate(outcomes):
            generation, accepted = outcome.generation, outcome.accepted
            paths[row, 1 : len(accepted) + 1] = torch.tensor(accepted, dtype=torch.int64)
            if self._seams.moves_rows():
                self._close_gaps(generation, accepted)
            generation.prefix_len += len(outcome.tokens)
        self._drafter.append_context(
            features.gather(1, paths[:, :, None].expand(-1, -1, features.shape[2])),
            cache=self._draft_cache,
            slots=batch.slots,
            starts=batch.prefix_lens,
            counts=torch.tensor([len(outcome.tokens) for outcome in outcomes]),
        )

    def _close_gaps(self, generation: Generation, accepted: Sequence[int]) -> None:
        """Move the accepted nodes' rows right behind the root's, which stays where it is."""
        if list(accepted) == list(range(1, len(accepted) + 1)):
            return
        assert generation.slot is not None
        root = generation.prefix_len
        self._cache.move(
            generation.slot,
            root + torch.tensor(accepted),
            torch.arange(root + 1, root + 1 + len(accepted)),
        )


def _walk(
    generation: Generation, tree: DraftTree, choice: Tensor, logits: Tensor
) -> tuple[list[int], int]:
    if generation.generator is None:
        return greedy_walk(tree, choice)
    temperature = generation.request.sampling.temperature
    return sample_and_walk(tree, logits, temperature, generation.generator)


def _stack(trees: Sequence[DraftTree]) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens (n, W), depths (n, W) and ancestor masks (n, W, W) of n trees, W the largest.

    Smaller trees are padded behind their last node with tokens that see only themselves and that
    nobody sees.
    """
    width = max(tree.parents.numel() for tree in trees)
    tokens = torch.zeros(len(trees), width, dtype=torch.int64)
    node_depths = torch.zeros(len(trees), width, dtype=torch.int64)
    mask = torch.eye(width, dtype=torch.bool).repeat(len(trees), 1, 1)
    for row, tree in enumerate(trees):
        nodes = tree.parents.numel()
        tokens[row, :nodes] = tree.token_ids
        node_depths[row, :nodes] = depths(tree)
        mask[row, :nodes, :nodes] = ancestor_mask(tree)
    return tokens, node_depths, mask
