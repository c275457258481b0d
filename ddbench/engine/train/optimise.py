"""One optimiser and one schedule for both models."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor

CLIP_NORM = 1.0
WARMUP_STEPS = 40
LAST_RATE = 0.02  # of the peak


def descend(
    weights: dict[str, Tensor],
    losses: Iterable[Callable[[], Tensor]],
    *,
    steps: int,
    peak_rate: float,
    on_step: Callable[[int, float], None],
) -> None:
    """Train `weights` in place: AdamW, short warm-up, cosine to almost nothing.

    losses: one callable a step; on_step gets the step's number, from 0, and its loss before it.
    """
    parameters = [weight.requires_grad_(True) for weight in weights.values()]
    matrices = [weight for weight in parameters if weight.dim() > 1]
    norms = [weight for weight in parameters if weight.dim() == 1]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.05}, {"params": norms, "weight_decay": 0.0}],
        lr=peak_rate,
        betas=(0.9, 0.98),
        fused=True,
    )
    for step, loss_of in zip(range(steps), losses, strict=False):
        for group in optimiser.param_groups:
            group["lr"] = peak_rate * _rate(step, steps)
        loss = loss_of()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, CLIP_NORM)
        optimiser.step()
        on_step(step, loss.item())
    for weight in parameters:
        weight.requires_grad_(False)


def _rate(step: int, steps: int) -> float:
    if step < WARMUP_STEPS:
        return (step + 1) / WARMUP_STEPS
    done = (step - WARMUP_STEPS) / max(1, steps - WARMUP_STEPS)
    return LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * done))
