"""The bodies of /v1/completions and /v1/chat/completions, read into requests."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import jinja2

from ddbench.engine.generation import GenerationRequest, Sampling
from ddbench.engine.http import asked
from ddbench.engine.http.fields import Fields
from ddbench.engine.settings import EngineSettings
from ddbench.engine.tokenizer import Tokenizer
from ddbench.errors import RequestRefused

DEFAULT_COMPLETION_TOKENS = 16
DEFAULT_TEMPERATURE = 1.0

_ONLY_OFF: dict[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "echo": (False,),
    "frequency_penalty": (0, 0.0),
    "function_call": ("none",),
    "functions": ([],),
    "json_schema": ("",),
    "logit_bias": ({},),
    "logprobs": (False, 0),
    "lora_path": (),
    "min_p": (0.0,),
    "min_tokens": (0,),
    "n": (1,),
    "presence_penalty": (0, 0.0),
    "regex": ("",),
    "ebnf": ("",),
    "repetition_penalty": (1.0,),
    "response_format": ({"type": "text"},),
    "return_hidden_states": (False,),
    "return_spec_tokens_details": (False,),
    "separate_reasoning": (True, False),  # this model does not reason
    "stream_reasoning": (True, False),
    "suffix": ("",),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "top_k": (-1,),
    "top_logprobs": (0,),
    "top_p": (1.0,),
}
_IGNORED = ("user", "metadata", "store")
"""Fields that, by OpenAI's own definition, change nothing about the answer."""


@dataclass(frozen=True, slots=True)
class OpenAiBody:
    """model: the name the client used, which answers repeat."""

    requests: tuple[GenerationRequest, ...]
    model: str
    stream: bool
    stream_usage: bool


def read_completion(
    body: Any, tokenizer: Tokenizer, settings: EngineSettings, vocab_size: int, model: str
) -> OpenAiBody:
    """Raises RequestRefused."""
    fields = Fields(body)
    prompts = _prompts(fields, tokenizer)
    most = fields.integer("max_tokens", least=1)
    return _read_rest(fields, prompts, most, DEFAULT_COMPLETION_TOKENS, settings, vocab_size, model)


def read_chat(
    body: Any, tokenizer: Tokenizer, settings: EngineSettings, vocab_size: int, model: str
) -> OpenAiBody:
    """Raises RequestRefused, also when the model's chat template refuses the messages."""
    fields = Fields(body)
    messages = _messages(fields)
    most = fields.integer("max_completion_tokens", least=1)
    older = fields.integer("max_tokens", least=1)  # the deprecated name of the same
    try:
        prompt = tokenizer.render_chat(messages)
    except (jinja2.TemplateError, TypeError, ValueError) as cause:
        raise RequestRefused(
            f"the chat template cannot take these messages: {cause}", remedy="Change them."
        ) from cause
    if prompt is None:
        raise RequestRefused(
            "the model has no chat template", remedy="Use /v1/completions or /generate."
        )
    prompts = [tokenizer.encode(prompt)]
    return _read_rest(fields, prompts, most or older, None, settings, vocab_size, model)


def _read_rest(
    fields: Fields,
    prompts: list[list[int]],
    most: int | None,
    default: int | None,
    settings: EngineSettings,
    vocab_size: int,
    model: str,
) -> OpenAiBody:
    """What both routes share."""
    stream = fields.boolean("stream")
    options = Fields(fields.any("stream_options") or {}, where="stream_options.")
    stream_usage = options.boolean("include_usage")
    options.only({"continuous_usage_stats": (False,), "include_obfuscation": (False,)})
    options.finish()
    name = fields.text("model") or model
    rid = fields.text("rid")
    shared: dict[str, Any] = {
        "temperature": asked.temperature(fields, DEFAULT_TEMPERATURE),
        "seed": asked.seed(fields, "seed"),
        "ignore_eos": fields.boolean("ignore_eos"),
        "stop": asked.stops(fields),
        "stop_token_ids": asked.stop_token_ids(fields),
        "trim_stop": not fields.boolean("no_stop_trim"),
        "skip_special_tokens": fields.boolean("skip_special_tokens", True),
    }
    fields.only(_ONLY_OFF)
    for ignored in _IGNORED:
        fields.any(ignored)
    fields.finish()
    requests = [
        GenerationRequest(
            rid=uuid4().hex if rid is None else f"{rid}_{index}" if len(prompts) > 1 else rid,
            prompt_ids=tuple(prompt),
            sampling=Sampling(
                max_new_tokens=asked.require_fit(prompt, most, default, settings, vocab_size),
                **shared,
            ),
            streaming=stream,
        )
        for index, prompt in enumerate(prompts)
    ]
    return OpenAiBody(tuple(requests), name, stream, stream_usage)


def _prompts(fields: Fields, tokenizer: Tokenizer) -> list[list[int]]:
    value = fields.any("prompt")
    if isinstance(value, str):
        return [tokenizer.encode(value)]
    if value and (ids := asked.token_list(value)) is not None:
        return [ids]
    if value and isinstance(value, list):
        if all(isinstance(one, str) for one in value):
            return [tokenizer.encode(one) for one in value]
        lists = [asked.token_list(one) for one in value]
        batch = [one for one in lists if one is not None]
        if len(batch) == len(lists):
            return batch
    raise fields.wrong("prompt", value, "a string, a list of token ids, or a list of these")


def _messages(fields: Fields) -> list[dict[str, Any]]:
    value = fields.any("messages")
    if not isinstance(value, list) or not value:
        raise fields.wrong("messages", value, "a list of messages, not empty")
    messages = []
    for index, one in enumerate(value):
        message = Fields(one, where=f"messages[{index}].")
        role = message.text("role")
        if role is None:
            raise message.wrong("role", None, "a string")
        messages.append({"role": role, "content": _content(message)})
        message.only({"name": (), "tool_calls": ([],), "tool_call_id": ()})
        message.finish()
    return messages


def _content(message: Fields) -> str:
    content = message.any("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [None]
    texts = [
        part["text"]
        for part in parts
        if isinstance(part, dict)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
    ]
    if len(texts) != len(parts):
        raise message.wrong("content", content, "a string, or a list of text parts")
    return " ".join(texts)
