"""The held-out questions that are shipped, one JSONL file a domain.

A question whose greedy answer hangs on a near tie is left out: a batch sums floats in another
order than a single request, and then the two could give different texts.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from ddbench.engine.grammar import DOMAINS, Example, held_out_examples
from ddbench.engine.target import Target
from ddbench.engine.train.documents import collate, tokenize
from ddbench.engine.train.layers import Weights, head_weight, target_hidden
from ddbench.engine.train.rollouts import greedy_answers

SHIPPED_PER_DOMAIN = 96
SMALLEST_GAP = 2e-3  # between the two best logits, at every token of the answer


def write_questions(folder: Path, weights: Weights, target: Target, tokenizer: Tokenizer) -> None:
    """Write <domain>.jsonl with lines {"id", "prompt", "category"} into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for domain in sorted(DOMAINS):
        examples = held_out_examples(domain)
        gaps = smallest_gaps(examples, weights, target, tokenizer).tolist()
        steady = [e for e, gap in zip(examples, gaps, strict=True) if gap >= SMALLEST_GAP]
        lines = [
            json.dumps(
                {"id": f"{domain}-{number:03}", "prompt": example.prompt, "category": domain}
            )
            for number, example in enumerate(steady[:SHIPPED_PER_DOMAIN])
        ]
        (folder / f"{domain}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@torch.no_grad()
def smallest_gaps(
    examples: Sequence[Example], weights: Weights, target: Target, tokenizer: Tokenizer
) -> Tensor:
    """(n,): how far the target's first choice is ahead of its second, where they are closest."""
    answered = greedy_answers(target, tokenize(examples, tokenizer), max_new_tokens=96)
    batch = collate(answered)
    hidden, _ = target_hidden(weights, target.config, batch.ids[:, :-1])
    logits = functional.linear(hidden, head_weight(weights, target.config))
    best, second = logits.topk(2, dim=-1).values.unbind(-1)
    gaps = (best - second).masked_fill(~batch.answers[:, 1:], float("inf"))
    return gaps.min(-1).values
