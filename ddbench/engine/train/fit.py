"""What each of the two models learns."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from ddbench.engine.drafter import DrafterConfig
from ddbench.engine.qwen3_layer import random_tensors
from ddbench.engine.target import TargetConfig
from ddbench.engine.train.documents import Batch, Document, batches
from ddbench.engine.train.layers import drafter_hidden, head_weight, target_hidden
from ddbench.engine.train.optimise import descend

BLOCKS_PER_SEQUENCE = 14
DEPTH_DECAY = 0.85  # weight of a drafted position against the one before it
TARGET_RATE, DRAFTER_RATE = 4e-3, 3e-3

OnStep = Callable[[int, float], None]
Weights = dict[str, Tensor]


def fit_target(
    config: TargetConfig,
    documents: Sequence[Document],
    *,
    steps: int,
    batch: int,
    seed: int,
    on_step: OnStep,
) -> Weights:
    """Next-token prediction on the answers. Returns float32 weights."""
    weights = random_tensors(config.tensors(), seed)
    generator = torch.Generator().manual_seed(seed)

    def loss_of(sample: Batch) -> Tensor:
        hidden, _ = target_hidden(weights, config, sample.ids[:, :-1])
        wanted = sample.answers[:, 1:]
        logits = functional.linear(hidden[wanted], head_weight(weights, config))
        return functional.cross_entropy(logits, sample.ids[:, 1:][wanted])

    descend(
        weights,
        _losses(documents, batch, generator, loss_of),
        steps=steps,
        peak_rate=TARGET_RATE,
        on_step=on_step,
    )
    return weights


def fit_drafter(
    config: DrafterConfig,
    target_config: TargetConfig,
    target_weights: Weights,
    answered: Sequence[Document],
    *,
    steps: int,
    batch: int,
    seed: int,
    early_step: int,
    on_step: OnStep,
) -> tuple[Weights, Weights]:
    """Foresee the target's own answers from its features.

    Returns the final weights, and those before the update of early_step.
    """
    weights = random_tensors(config.tensors(), seed + 1)
    generator = torch.Generator().manual_seed(seed + 1)
    embedding = target_weights["model.embed_tokens.weight"]
    head = head_weight(target_weights, target_config)
    depth = torch.arange(1, config.block_size)
    early: Weights = {}

    def loss_of(sample: Batch) -> Tensor:
        with torch.no_grad():
            _, features = target_hidden(
                target_weights, target_config, sample.ids, config.target_layer_ids
            )
        assert features is not None
        anchors = _anchors(sample, generator)
        columns = anchors[:, :, None] + depth  # (n, A, L)
        alive = columns < sample.lens[:, None, None]
        columns = columns.clamp(max=sample.ids.shape[1] - 1)
        hidden = drafter_hidden(
            weights, config, embedding, features, sample.ids.gather(1, anchors), anchors
        )
        wanted = sample.ids.gather(1, columns.flatten(1)).view_as(columns)
        weight = (DEPTH_DECAY ** (depth - 1.0)).expand(columns.shape)[alive]
        losses = functional.cross_entropy(
            functional.linear(hidden[alive], head), wanted[alive], reduction="none"
        )
        return (losses * weight).sum() / weight.sum()

    def keep_early(step: int, loss: float) -> None:
        if step == early_step:
            early.update({name: value.detach().clone() for name, value in weights.items()})
        on_step(step, loss)

    descend(
        weights,
        _losses(answered, batch, generator, loss_of),
        steps=steps,
        peak_rate=DRAFTER_RATE,
        on_step=keep_early,
    )
    return weights, early or dict(weights)


def _anchors(sample: Batch, generator: torch.Generator) -> Tensor:
    """(n, A): roots of blocks, anywhere in the answers but at their last token."""
    spots = (sample.lens - 1 - sample.prompt_lens).clamp(min=1)
    drawn = torch.rand(sample.lens.shape[0], BLOCKS_PER_SEQUENCE, generator=generator)
    return sample.prompt_lens[:, None] + (drawn * spots[:, None]).long()


def _losses(
    documents: Sequence[Document],
    batch: int,
    generator: torch.Generator,
    loss_of: Callable[[Batch], Tensor],
) -> Iterator[Callable[[], Tensor]]:
    for sample in batches(documents, batch, generator):
        yield lambda sample=sample: loss_of(sample)  # type: ignore[misc]
