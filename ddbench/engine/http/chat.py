"""POST /v1/chat/completions: OpenAI's chat, whole or streamed."""

from typing import Any

from aiohttp import web

from ddbench.engine.http.answer_text import AnswerText
from ddbench.engine.http.fields import parse_json
from ddbench.engine.http.openai_answer import finish_fields, head, usage, whole_answer
from ddbench.engine.http.openai_request import OpenAiBody, read_chat
from ddbench.engine.http.serving import EventStream, Serving, json_answer, serving
from ddbench.engine.http.tickets import until_all_ended


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
        await until_all_ended(tickets)
    message = {
        "role": "assistant",
        "content": AnswerText(engine.tokenizer, ticket.generation).up_to(ticket),
        "reasoning_content": None,
    }
    choice = {"index": 0, "message": message, "logprobs": None, **finish_fields(ticket)}
    return json_answer(whole_answer(head(body, "chat.completion"), [choice], tickets))


async def _stream(request: web.Request, server: Serving, body: OpenAiBody) -> web.StreamResponse:
    """The role first, then the text piece by piece, then why it ended, then what it cost."""
    events = EventStream(request)
    start = head(body, "chat.completion.chunk")
    with server.office.open(body.requests) as tickets:
        (ticket,) = tickets
        await events.start()
        text = AnswerText(server.engine.tokenizer, ticket.generation)
        sent = 0
        chunks = [_chunk(start, {"role": "assistant", "content": ""})]
        while True:
            await ticket.changed.wait()
            ticket.changed.clear()
            so_far = text.up_to(ticket)
            if delta := so_far[sent:]:
                sent = len(so_far)
                chunks.append(_chunk(start, {"content": delta}))
            if ticket.finish is not None:
                chunks.append(_chunk(start, {}, **finish_fields(ticket)))
            if chunks:
                await events.send(*chunks)
                chunks = []
            if ticket.finish is not None:
                break
    if body.stream_usage:
        await events.send({**start, "choices": [], "usage": usage(tickets)})
    return await events.end()


def _chunk(start: dict[str, Any], delta: dict[str, Any], **finish: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "delta": {"reasoning_content": None, **delta},
        "logprobs": None,
        "finish_reason": None,
        "matched_stop": None,
    }
    return {**start, "choices": [{**choice, **finish}]}
