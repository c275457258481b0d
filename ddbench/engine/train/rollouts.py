"""The target's own greedy answers: what the drafter learns to foresee."""

from collections.abc import Sequence

import torch

from ddbench.engine.target import Target
from ddbench.engine.train.documents import Document, collate

MAX_ANSWER_TOKENS = 96  # well above what the grammar writes


def greedy_answers(
    target: Target, prompts: Sequence[Document], *, max_new_tokens: int, at_once: int = 64
) -> list[Document]:
    """Each question with the target's answer, up to end of text or max_new_tokens, in order."""
    answered: list[Document] = []
    for start in range(0, len(prompts), at_once):
        answered += _answer_together(target, prompts[start : start + at_once], max_new_tokens)
    return answered


def _answer_together(
    target: Target, prompts: Sequence[Document], max_new_tokens: int
) -> list[Document]:
    questions = [Document(p.ids[: p.prompt_tokens], p.prompt_tokens) for p in prompts]
    batch = collate(questions)
    cache = target.new_cache(len(prompts))
    running = torch.arange(len(prompts))
    lens = batch.lens.clone()
    output = target.forward(
        batch.ids,
        torch.arange(batch.ids.shape[1]).expand_as(batch.ids),
        cache=cache,
        slots=running,
        prefix_lens=torch.zeros_like(lens),
        logit_rows=lens - 1,
    )
    answers: list[list[int]] = [[] for _ in prompts]
    while True:
        chosen = output.logits[:, 0].argmax(-1)  # (running,)
        for row, token in zip(running.tolist(), chosen.tolist(), strict=True):
            answers[row].append(token)
        alive = chosen != target.config.eos_token_id
        running, chosen = running[alive], chosen[alive]
        if not len(running) or len(answers[int(running[0])]) >= max_new_tokens:
            break
        output = target.forward(
            chosen[:, None],
            lens[running][:, None],
            cache=cache,
            slots=running,
            prefix_lens=lens[running],
        )
        lens[running] += 1
    return [
        Document((*question.ids, *answer), question.prompt_tokens)
        for question, answer in zip(questions, answers, strict=True)
    ]
