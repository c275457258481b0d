"""Parts that answers of both OpenAI routes share."""

import time
from collections.abc import Sequence
from typing import Any

from ddbench.engine.http.openai_request import OpenAiBody
from ddbench.engine.http.tickets import Ticket


def head(body: OpenAiBody, kind: str) -> dict[str, Any]:
    """What every answer and chunk begins with. kind: OpenAI's name for such an object."""
    return {
        "id": body.requests[0].rid,
        "object": kind,
        "created": int(time.time()),
        "model": body.model,
    }


def whole_answer(
    start: dict[str, Any], choices: Sequence[dict[str, Any]], tickets: Sequence[Ticket]
) -> dict[str, Any]:
    """start: as head gives it. Metadata are those of the first ticket."""
    return {
        **start,
        "choices": list(choices),
        "usage": usage(tickets),
        "metadata": weights(tickets[0]),
    }


def finish_fields(ticket: Ticket) -> dict[str, Any]:
    finish = ticket.finish
    return {
        "finish_reason": None if finish is None else finish.kind,
        "matched_stop": None if finish is None else finish.matched,
    }


def usage(tickets: Sequence[Ticket]) -> dict[str, Any]:
    prompt = sum(ticket.generation.prompt_len for ticket in tickets)
    completion = sum(ticket.tokens for ticket in tickets)
    return {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": None,
        "reasoning_tokens": 0,
        "completion_tokens_details": None,
    }


def weights(ticket: Ticket) -> dict[str, Any]:
    return {
        "weight_version": "default",
        "weight_versions": [{"version": "default", "start": 0, "end": ticket.tokens}],
    }
