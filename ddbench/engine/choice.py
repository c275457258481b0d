"""The target's choice from its logits, and how probable it found a token.

Drawing is the same operation as in reference.verify.sample_and_walk, one draw of the request's own
generator for each emitted token. So at one seed every drafting setting writes the same text, as
long as no two settings' logits differ by more than rounding.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ddbench.engine.generation import Generation


def draw(logits: Tensor, temperature: float, generator: torch.Generator) -> int:
    """One sample from softmax(logits / temperature); logits are (V,)."""
    probabilities = torch.softmax(logits.double() / temperature, dim=-1)
    return int(torch.multinomial(probabilities, 1, generator=generator))


def choose(logits: Tensor, generations: Sequence[Generation]) -> list[int]:
    """One token for each of n requests from (n, V) logits: the argmax, or a draw."""
    chosen: list[int] = logits.argmax(dim=-1).tolist()
    for row, generation in enumerate(generations):
        if generation.generator is not None:
            temperature = generation.request.sampling.temperature
            chosen[row] = draw(logits[row], temperature, generation.generator)
    return chosen


def record_logprobs(generation: Generation, logits: Tensor, tokens: Sequence[int]) -> None:
    """Note the log-probability of each token of a step, if the request asked for it.

    logits: (m, V), row i what token i was chosen from. As in SGLang they are taken after division
    by the temperature, where there is one.
    """
    request = generation.request
    if not request.logprobs:
        return
    if request.sampling.temperature > 0:
        logits = logits / request.sampling.temperature
    log_probs = torch.log_softmax(logits, dim=-1)
    of_tokens = log_probs.gather(1, torch.tensor(tokens)[:, None])[:, 0]
    generation.output_logprobs += of_tokens.tolist()
    if request.top_logprobs:
        best = log_probs.topk(request.top_logprobs, dim=-1)
        generation.output_top_logprobs += [
            list(zip(values, ids, strict=True))
            for values, ids in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]
