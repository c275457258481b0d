"""Documents as token ids, and batches of them padded at the end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor

from ddbench.engine.grammar import Example
from ddbench.engine.train.tokenizer import END_OF_TEXT_ID


@dataclass(frozen=True, slots=True)
class Document:
    """ids end with end of text; the first prompt_tokens of them are the question."""

    ids: tuple[int, ...]
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class Batch:
    ids: Tensor  # (n, T) int64, padded with end of text
    prompt_lens: Tensor  # (n,) int64
    lens: Tensor  # (n,) int64

    @property
    def answers(self) -> Tensor:
        """(n, T) bool: the tokens of the answers, end of text included."""
        column = torch.arange(self.ids.shape[1])
        return (column >= self.prompt_lens[:, None]) & (column < self.lens[:, None])


def tokenize(examples: Sequence[Example], tokenizer: Tokenizer) -> list[Document]:
    prompts = tokenizer.encode_batch([example.prompt for example in examples])
    answers = tokenizer.encode_batch([example.answer for example in examples])
    return [
        Document((*prompt.ids, *answer.ids, END_OF_TEXT_ID), len(prompt.ids))
        for prompt, answer in zip(prompts, answers, strict=True)
    ]


def collate(documents: Sequence[Document]) -> Batch:
    longest = max(len(document.ids) for document in documents)
    ids = torch.full((len(documents), longest), END_OF_TEXT_ID)
    for row, document in enumerate(documents):
        ids[row, : len(document.ids)] = torch.tensor(document.ids)
    return Batch(
        ids,
        torch.tensor([document.prompt_tokens for document in documents]),
        torch.tensor([len(document.ids) for document in documents]),
    )


def batches(
    documents: Sequence[Document], size: int, generator: torch.Generator
) -> Iterator[Batch]:
    """Shuffled epochs without end."""
    while True:
        order = torch.randperm(len(documents), generator=generator).tolist()
        for start in range(0, len(order) - size + 1, size):
            yield collate([documents[i] for i in order[start : start + size]])
