"""The held-out questions that are shipped, one JSONL file a domain.

Two kinds are left out. Where the greedy answer hangs on a near tie: a batch sums floats in another
order than a single request, and the two could give different texts. And where the answer ends,
but later than the quickstart waits. An answer that never ends is kept: it is a fault of the model.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from ddbench.engine.grammar import DOMAINS, Example, held_out_examples
from ddbench.engine.target import Target, TargetConfig
from ddbench.engine.train.documents import Document, collate, tokenize
from ddbench.engine.train.layers import Weights, head_weight, target_hidden
from ddbench.engine.train.rollouts import MAX_ANSWER_TOKENS, greedy_answers

SHIPPED_PER_DOMAIN = 96
LONGEST_ANSWER = 64  # tokens, end of text included
SMALLEST_GAP = 1e-3  # between the two best logits, at every token of the answer


def write_questions(
    folder: Path,
    weights: Weights,
    target: Target,
    tokenizer: Tokenizer,
    *,
    per_domain: int = SHIPPED_PER_DOMAIN,
) -> None:
    """Write <domain>.jsonl with lines {"id", "prompt", "category"} into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for domain in sorted(DOMAINS):
        examples = held_out_examples(domain)
        kept: list[str] = []
        for start in range(0, len(examples), per_domain):
            group = examples[start : start + per_domain]
            kept += _fit_to_ship(group, weights, target, tokenizer)
            if len(kept) >= per_domain:
                break
        lines = [
            json.dumps({"id": f"{domain}-{number:03}", "prompt": prompt, "category": domain})
            for number, prompt in enumerate(kept[:per_domain])
        ]
        (folder / f"{domain}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _fit_to_ship(
    examples: Sequence[Example], weights: Weights, target: Target, tokenizer: Tokenizer
) -> list[str]:
    documents = tokenize(examples, tokenizer)
    answered = greedy_answers(target, documents, max_new_tokens=MAX_ANSWER_TOKENS)
    gaps = smallest_gaps(weights, target.config, answered).tolist()
    return [
        example.prompt
        for example, answer, gap in zip(examples, answered, gaps, strict=True)
        if gap >= SMALLEST_GAP
        and not LONGEST_ANSWER < len(answer.ids) - answer.prompt_tokens < MAX_ANSWER_TOKENS
    ]


@torch.no_grad()
def smallest_gaps(weights: Weights, config: TargetConfig, answered: Sequence[Document]) -> Tensor:
    """(n,): how far the target's first choice is ahead of its second, where they are closest."""
    batch = collate(answered)
    hidden, _ = target_hidden(weights, config, batch.ids[:, :-1])
    logits = functional.linear(hidden, head_weight(weights, config))
    best, second = logits.topk(2, dim=-1).values.unbind(-1)
    gaps = (best - second).masked_fill(~batch.answers[:, 1:], float("inf"))
    return gaps.min(-1).values
