"""Checks that every route shares: does the request fit the model and this server?"""

from collections.abc import Sequence
from typing import Any

from ddbench.engine.http.fields import Fields, is_integer
from ddbench.engine.settings import EngineSettings
from ddbench.errors import RequestRefused

GREEDY_BELOW = 1e-6  # SGLang's _SAMPLING_EPS
MOST_STOPS = 32  # SGLang's MAX_STOP_COUNT
MOST_TOP_LOGPROBS = 20


def temperature(fields: Fields, default: float) -> float:
    value = fields.number("temperature", default, least=0.0)
    return 0.0 if value < GREEDY_BELOW else value


def seed(fields: Fields, name: str) -> int | None:
    value = fields.integer(name)
    if value is not None and not -(2**63) <= value < 2**63:
        raise fields.wrong(name, value, "a 64-bit integer")
    return value


def stops(fields: Fields) -> tuple[str, ...]:
    value = fields.any("stop")
    if value is None:
        return ()
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(t, str) and t for t in texts):
        raise fields.wrong("stop", value, "a string or a list of strings, none of them empty")
    if len(texts) > MOST_STOPS:
        raise fields.wrong("stop", len(texts), f"at most {MOST_STOPS} strings")
    return tuple(texts)


def stop_token_ids(fields: Fields) -> frozenset[int]:
    value = fields.any("stop_token_ids")
    if value is None:
        return frozenset()
    if not isinstance(value, list) or not all(map(is_integer, value)):
        raise fields.wrong("stop_token_ids", value, "a list of integers")
    return frozenset(value)


def require_fit(
    prompt_ids: Sequence[int],
    max_new_tokens: int | None,
    default: int | None,
    settings: EngineSettings,
    vocab_size: int,
) -> int:
    """How many tokens the answer may have. None asks for `default`, or for all that fit.

    Raises RequestRefused when prompt and answer do not fit, or a token does not exist.
    """
    if not prompt_ids:
        raise RequestRefused("the prompt is empty", remedy="Send at least one token.")
    if not all(0 <= token < vocab_size for token in prompt_ids):
        raise RequestRefused(
            f"the prompt has a token id outside 0 to {vocab_size - 1}",
            remedy="Send ids of this model's vocabulary.",
        )
    most = min(settings.context_length, settings.max_total_tokens)
    room = most - len(prompt_ids)
    if room < 1:
        raise RequestRefused(
            f"The input ({len(prompt_ids)} tokens) is longer than the model's context length "
            f"({most} tokens).",
            remedy="Send a shorter prompt.",
        )
    if max_new_tokens is None:
        return room if default is None else min(default, room)
    if max_new_tokens > room:
        raise RequestRefused(
            "Requested token count exceeds the model's maximum context length of "
            f"{most} tokens. You requested a total of {len(prompt_ids) + max_new_tokens} tokens: "
            f"{len(prompt_ids)} tokens from the input messages and {max_new_tokens} tokens for "
            "the completion.",
            remedy="Reduce the tokens of the input or of the completion to fit.",
        )
    return max_new_tokens


def token_list(value: Any) -> list[int] | None:
    """The value itself when it is a list of integers."""
    return value if isinstance(value, list) and all(map(is_integer, value)) else None
