"""POST /generate: SGLang's native route, whole or streamed."""

import time
from typing import Any

from aiohttp import web

from ddbench.engine.http.answer_text import AnswerText
from ddbench.engine.http.fields import parse_json
from ddbench.engine.http.generate_request import GenerateBody, read_generate
from ddbench.engine.http.meta_info import meta_info
from ddbench.engine.http.serving import EventStream, Serving, json_answer, serving
from ddbench.engine.http.tickets import Ticket, until_all_ended


async def generate(request: web.Request) -> web.StreamResponse:
    server = serving(request)
    engine = server.engine
    body = read_generate(
        parse_json(await request.read()),
        engine.tokenizer,
        engine.settings,
        engine.target.config.vocab_size,
    )
    if body.stream:
        return await _stream(request, server, body)
    with server.office.open(body.requests) as tickets:
        await until_all_ended(tickets)
    answers = [_Answer(server, ticket).so_far() for ticket in tickets]
    return json_answer(answers if body.is_batch else answers[0])


async def _stream(request: web.Request, server: Serving, body: GenerateBody) -> web.StreamResponse:
    """Each chunk holds the whole answer so far; in a batch it says whose it is (`index`)."""
    events = EventStream(request)
    with server.office.open(body.requests) as tickets:
        await events.start()
        answers = [_Answer(server, ticket) for ticket in tickets]
        while not all(answer.is_sent for answer in answers):
            await tickets[0].changed.wait()
            tickets[0].changed.clear()
            for index, answer in enumerate(answers):
                if answer.has_news:
                    chunk = answer.so_far()
                    if body.is_batch:
                        chunk["index"] = index
                    await events.send(chunk)
    return await events.end()


class _Answer:
    """One request's answer, sent piece by piece or at once."""

    def __init__(self, server: Serving, ticket: Ticket) -> None:
        self._width = server.engine.settings.verify_width
        self._seams = server.engine.seams
        self._ticket = ticket
        self._text = AnswerText(server.engine.tokenizer, ticket.generation)
        self._sent_tokens = 0
        self._sent_s: float | None = None
        self.is_sent = False

    @property
    def has_news(self) -> bool:
        ticket = self._ticket
        return not self.is_sent and (ticket.tokens > self._sent_tokens or ticket.finish is not None)

    def so_far(self) -> dict[str, Any]:
        ticket = self._ticket
        chunk = {
            "text": self._text.up_to(ticket),
            "output_ids": ticket.generation.output_ids[: ticket.tokens],
            "meta_info": meta_info(ticket, verify_width=self._width, sent_s=self._sent_s),
        }
        self._sent_tokens = ticket.tokens
        self._sent_s = self._sent_s or time.time()
        self.is_sent = ticket.finish is not None
        return self._seams.answer(chunk)
