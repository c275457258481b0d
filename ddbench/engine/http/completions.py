"""POST /v1/completions: OpenAI's text completion, whole or streamed."""

from typing import Any

from aiohttp import web

from ddbench.engine.http.answer_text import AnswerText
from ddbench.engine.http.fields import parse_json
from ddbench.engine.http.openai_answer import finish_fields, head, usage, whole_answer
from ddbench.engine.http.openai_request import OpenAiBody, read_completion
from ddbench.engine.http.serving import EventStream, Serving, json_answer, serving
from ddbench.engine.http.tickets import until_all_ended

_KIND = "text_completion"


async def completions(request: web.Request) -> web.StreamResponse:
    server = serving(request)
    engine = server.engine
    body = read_completion(
        parse_json(await request.read()),
        engine.tokenizer,
        engine.settings,
        engine.target.config.vocab_size,
        engine.arguments.served_model_name,
    )
    if body.stream:
        return await _stream(request, server, body)
    with server.office.open(body.requests) as tickets:
        await until_all_ended(tickets)
    choices = [
        {
            "index": index,
            "text": AnswerText(engine.tokenizer, ticket.generation).up_to(ticket),
            "logprobs": None,
            **finish_fields(ticket),
        }
        for index, ticket in enumerate(tickets)
    ]
    return json_answer(whole_answer(head(body, _KIND), choices, tickets))


async def _stream(request: web.Request, server: Serving, body: OpenAiBody) -> web.StreamResponse:
    """Each chunk holds the new text of one choice."""
    events = EventStream(request)
    start = head(body, _KIND)
    with server.office.open(body.requests) as tickets:
        await events.start()
        texts = [AnswerText(server.engine.tokenizer, ticket.generation) for ticket in tickets]
        sent = [0] * len(tickets)
        ended = [False] * len(tickets)
        while not all(ended):
            await tickets[0].changed.wait()
            tickets[0].changed.clear()
            for index, ticket in enumerate(tickets):
                text = texts[index].up_to(ticket)
                delta = text[sent[index] :]
                if ended[index] or not (delta or ticket.finish):
                    continue
                sent[index] = max(sent[index], len(text))
                ended[index] = ticket.finish is not None
                choice: dict[str, Any] = {"index": index, "text": delta, "logprobs": None}
                await events.send({**start, "choices": [{**choice, **finish_fields(ticket)}]})
    if body.stream_usage:
        await events.send({**start, "choices": [], "usage": usage(tickets)})
    return await events.end()
