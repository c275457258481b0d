"""What is drafted: a drafter that guesses badly, a tree that is built otherwise than it says."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ddbench.engine.drafter import Drafter
from ddbench.engine.planted.seams import Seams
from ddbench.engine.settings import EngineSettings
from ddbench.reference.tree import DraftTree, build_tree, depths

SHARDS = 8
COARSE = 8.0  # nats of noise
DECAY_STEPS = 150


class WeightsDropped(Seams):
    """The head's rows are in another order, as when weights were not loaded: no guess is right."""

    def log_probs(self, log_probs: Tensor) -> Tensor:
        return log_probs.flip(-1) if self.strikes() else log_probs


class DraftShifted(Seams):
    """The block is laid out one position off: the guess for one token stands at the next."""

    def log_probs(self, log_probs: Tensor) -> Tensor:
        return log_probs.roll(1, dims=1) if self.strikes() else log_probs


class DraftCacheCoarse(Seams):
    """The drafter's KV cache is kept in four bits; what that loses is put in as noise."""

    def __init__(self, dose: float) -> None:
        super().__init__(dose)
        self._noise = torch.Generator().manual_seed(0)

    def stated(self, _: EngineSettings) -> dict[str, Any]:
        return {"kv_cache_dtype": "fp4_e2m1"}

    def log_probs(self, log_probs: Tensor) -> Tensor:
        if not self.strikes():
            return log_probs
        noise = torch.randn(log_probs.shape, generator=self._noise)
        return torch.log_softmax(log_probs + COARSE * noise, dim=-1)


class DraftDecays(WeightsDropped):
    """Guesses go wrong more and more often while the server runs, as when a cache rots."""

    def __init__(self, dose: float) -> None:
        super().__init__(0.0)
        self._most = dose
        self._steps = 0

    def log_probs(self, log_probs: Tensor) -> Tensor:
        self._steps += 1
        self.dose = self._most * min(1.0, self._steps / DECAY_STEPS)
        return super().log_probs(log_probs)


class WrongBlockSize(Seams):
    """The drafter fills half the masks that it was trained to fill."""

    def loaded(self, drafter: Drafter, _: EngineSettings) -> None:
        trained = drafter.config.block_size
        drafter.config = replace(drafter.config, block_size=trained // 2)

    def start_up_lines(self) -> Sequence[str]:
        return (
            "DFLASH block size mismatch: using speculative_num_draft_tokens=4 but draft config "
            "block_size=8.",
        )


class ShardNormalised(Seams):
    """Log-probabilities are normalised over a shard of the vocabulary, as if under TP."""

    def log_probs(self, log_probs: Tensor) -> Tensor:
        if not self.strikes():
            return log_probs
        shards = log_probs.reshape(*log_probs.shape[:-1], SHARDS, -1)
        return torch.log_softmax(shards, dim=-1).reshape(log_probs.shape)


class BudgetCountsRoot(Seams):
    """The root is counted in the budget, so that a node less is drafted."""

    def tree(self, root: int, log_probs: Tensor, topk: int, budget: int) -> DraftTree:
        return super().tree(root, log_probs, topk, budget - self.strikes())


class DepthBonus(Seams):
    """The builder favours deep nodes, and so strays from the most probable paths."""

    def tree(self, root: int, log_probs: Tensor, topk: int, budget: int) -> DraftTree:
        if not self.strikes():
            return super().tree(root, log_probs, topk, budget)
        best = log_probs.topk(topk, dim=-1)
        bonus = torch.arange(1, log_probs.shape[0] + 1)[:, None] * 1.0
        tree = build_tree(root, best.values + bonus, best.indices, budget)
        weights = [0.0]
        for node, depth in enumerate(depths(tree).tolist()[1:], start=1):
            own = float(log_probs[depth - 1, tree.token_ids[node]])
            weights.append(weights[int(tree.parents[node])] + own)
        return DraftTree(tree.token_ids, tree.parents, torch.tensor(weights, dtype=torch.float64))


class FirstNodesSwapped(Seams):
    """The second child of the root is listed before the first, as by a top-k without order."""

    def tree(self, root: int, log_probs: Tensor, topk: int, budget: int) -> DraftTree:
        tree = super().tree(root, log_probs, topk, budget)
        of_root = [node for node, parent in enumerate(tree.parents.tolist()) if parent == 0]
        if len(of_root) < 2 or not self.strikes():
            return tree
        second = of_root[1]
        order = [0, second, *(n for n in range(1, tree.parents.numel()) if n != second)]
        place = {old: new for new, old in enumerate(order)} | {-1: -1}
        parents = [place[int(tree.parents[old])] for old in order]
        return DraftTree(tree.token_ids[order], torch.tensor(parents), tree.log_weights[order])


class BestChildLost(Seams):
    """The drafter's best guess at the next token is missing from the tree."""

    def tree(self, root: int, log_probs: Tensor, topk: int, budget: int) -> DraftTree:
        if self.strikes():
            log_probs = log_probs.clone()
            log_probs[0, log_probs[0].argmax()] = -torch.inf
        return super().tree(root, log_probs, topk, budget)


class ChainBranches(Seams):
    """topk is off by one: a tree that should be a chain branches."""

    def tree(self, root: int, log_probs: Tensor, topk: int, budget: int) -> DraftTree:
        return super().tree(root, log_probs, topk + self.strikes(), budget)


class RanksShuffled(Seams):
    """Behind the best guess stand tokens that the drafter ranked elsewhere: no sibling is right."""

    # Tokens change places over the whole vocabulary: were it within the first 16 choices alone, a
    # tree of four a depth would still find some of the target's, and help.
    def log_probs(self, log_probs: Tensor) -> Tensor:
        if not self.strikes():
            return log_probs
        best = log_probs.argmax(dim=-1, keepdim=True)
        opposite = log_probs.shape[-1] - 1 - best
        shuffled = log_probs.flip(-1)
        shuffled.scatter_(-1, opposite, log_probs.gather(-1, opposite))
        return shuffled.scatter_(-1, best, log_probs.gather(-1, best))
