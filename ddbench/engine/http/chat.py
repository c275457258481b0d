"""POST /v1/chat/completions: OpenAI's chat, whole or streamed."""

import time
from typing import Any

from aiohttp import web

from ddbench.engine.http.answer_text import AnswerText
from ddbench.engine.http.fields import parse_json
from ddbench.engine.http.openai_answer import finish_fields, usage, weights
from ddbench.engine.http.openai_request import OpenAiBody, read_chat
from ddbench.engine.http.serving import EventStream, Serving, json_answer, serving


async def chat_completions(request: web.Request) -> web.StreamResponse:
    server = serving(request)
    engine = server.engine
    body = read_chat(
        parse_json(await request.read()),
        engine.tokenizer,
        engine.settings,
        engine.target.config.vocab_size,
        engine.arguments.served_model_name,
    )
    if body.stream:
        return await _stream(request, server, body)
    with server.office.open(body.requests) as tickets:
        (ticket,) = tickets
        while ticket.finish is None:
            await ticket.changed.wait()
            ticket.changed.clear()
    message = {
        "role": "assistant",
        "content": AnswerText(engine.tokenizer, ticket.generation).up_to(ticket),
        "reasoning_content": None,
    }
    choice = {"index": 0, "message": message, "logprobs": None, **finish_fields(ticket)}
    return json_answer(
        {
            **_head(body, "chat.completion"),
            "choices": [choice],
            "usage": usage(tickets),
            "metadata": weights(ticket),
        }
    )


async def _stream(request: web.Request, server: Serving, body: OpenAiBody) -> web.StreamResponse:
    """The role first, then the text piece by piece, then why it ended, then what it cost."""
    events = EventStream(request)
    head = _head(body, "chat.completion.chunk")
    with server.office.open(body.requests) as tickets:
        (ticket,) = tickets
        await events.start()
        text = AnswerText(server.engine.tokenizer, ticket.generation)
        sent = 0
        chunks = [_chunk(head, {"role": "assistant", "content": ""})]
        while True:
            await ticket.changed.wait()
            ticket.changed.clear()
            so_far = text.up_to(ticket)
            if delta := so_far[sent:]:
                sent = len(so_far)
                chunks.append(_chunk(head, {"content": delta}))
            if ticket.finish is not None:
                chunks.append(_chunk(head, {}, **finish_fields(ticket)))
            if chunks:
                await events.send(*chunks)
                chunks = []
            if ticket.finish is not None:
                break
    if body.stream_usage:
        await events.send({**head, "choices": [], "usage": usage(tickets)})
    return await events.end()


def _head(body: OpenAiBody, kind: str) -> dict[str, Any]:
    return {
        "id": body.requests[0].rid,
        "object": kind,
        "created": int(time.time()),
        "model": body.model,
    }


def _chunk(head: dict[str, Any], delta: dict[str, Any], **finish: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "delta": {"reasoning_content": None, **delta},
        "logprobs": None,
        "finish_reason": None,
        "matched_stop": None,
    }
    return {**head, "choices": [{**choice, **finish}]}
