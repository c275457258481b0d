"""Parts that answers of both OpenAI routes share."""

from collections.abc import Sequence
from typing import Any

from ddbench.engine.http.tickets import Ticket


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
