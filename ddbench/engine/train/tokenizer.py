"""The pair's tokenizer: byte-level BPE whose digits stand alone, so that sums can be learnt."""

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ddbench.engine.grammar import Example

VOCABULARY = 1024
END_OF_TEXT = "<|endoftext|>"
MASK = "<|mask|>"  # the drafter's; never in a text
END_OF_TEXT_ID, MASK_ID = 0, 1


def train_tokenizer(examples: Iterable[Example]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END_OF_TEXT, MASK],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((e.prompt + e.answer for e in examples), trainer)
    return tokenizer
