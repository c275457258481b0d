"""The text of an answer so far, with its stop cut off."""

from ddbench.engine.generation import Generation
from ddbench.engine.http.tickets import Ticket
from ddbench.engine.tokenizer import TextStream, Tokenizer


class AnswerText:
    def __init__(self, tokenizer: Tokenizer, generation: Generation) -> None:
        self._sampling = generation.request.sampling
        self._generation = generation
        self._stream = TextStream(tokenizer, skip_special_tokens=self._sampling.skip_special_tokens)

    def up_to(self, ticket: Ticket) -> str:
        """The text of the ticket's tokens; as in SGLang without the stop that ended it."""
        ids = self._generation.output_ids[: ticket.tokens]
        matched = None if ticket.finish is None else ticket.finish.matched
        if isinstance(matched, int) and self._sampling.trim_stop:
            ids = ids[:-1]
        text = self._stream.text_of(ids, is_final=ticket.finish is not None)
        if isinstance(matched, str) and self._sampling.trim_stop:
            cut = text.find(matched)
            text = text[:cut] if cut >= 0 else text
        return text
