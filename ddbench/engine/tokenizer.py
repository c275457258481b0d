"""Text to tokens and back, and the chat template that stands beside the tokenizer."""

from collections.abc import Sequence
from typing import Any

import jinja2
import jinja2.sandbox
from tokenizers import Tokenizer as FastTokenizer

REPLACEMENT = "\ufffd"  # what an unfinished UTF-8 sequence decodes to


class Tokenizer:
    """A tokenizer.json and, where the model has one, its chat template (Jinja, as transformers)."""

    def __init__(self, tokenizer: FastTokenizer, chat_template: str | None) -> None:
        self._tokenizer = tokenizer
        environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True
        )
        self._chat = None if chat_template is None else environment.from_string(chat_template)

    @property
    def vocab_size(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)

    def render_chat(self, messages: Sequence[dict[str, Any]]) -> str | None:
        """The prompt of a conversation, ending where the assistant is to speak.

        None when the model has no chat template. Raises jinja2.TemplateError, TypeError or
        ValueError when the template cannot take these messages.
        """
        if self._chat is None:
            return None
        return self._chat.render(messages=messages, add_generation_prompt=True)


class TextStream:
    """The growing text of one answer, decoded a little at a time.

    Byte-level tokens may split a character: what ends in an unfinished one is held back until the
    rest has come, or until the answer ends.
    """

    def __init__(self, tokenizer: Tokenizer, *, skip_special_tokens: bool) -> None:
        self._tokenizer = tokenizer
        self._skip = skip_special_tokens
        self._done = 0  # ids whose text is in self._text
        self._text = ""

    def text_of(self, output_ids: Sequence[int], *, is_final: bool) -> str:
        """The text of all of `output_ids`; each call must bring the earlier ones again."""
        tail = self._tokenizer.decode(output_ids[self._done :], skip_special_tokens=self._skip)
        if is_final:
            return self._text + tail
        if tail and not tail.endswith(REPLACEMENT):
            self._text += tail
            self._done = len(output_ids)
        return self._text
