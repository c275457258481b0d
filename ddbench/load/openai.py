"""The routes of OpenAI's API, streaming: /v1/completions and /v1/chat/completions.

Tokens are those of the server's usage, which comes in the last event; text comes in increments.
SGLang adds what its speculation did when asked to (`return_spec_tokens_details`); no other server
does, and no server streams token ids here.

Source: sglang 0.5.23, srt/entrypoints/openai/protocol.py (SglExt, SpecTokensDetails). vLLM's
answers were read in its source and never seen.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from ddbench.load.answer import json_object, message_of, refuse_incomplete
from ddbench.load.bad_answer import BadAnswer, shown
from ddbench.load.http_stream import Exchange
from ddbench.load.meta_info import count, counts
from ddbench.load.sampling_seed import sampling_seed
from ddbench.load.sse import SseSplitter
from ddbench.records import LoadConfig, Prompt, RequestCompleted, RequestFailed, RequestOutcome

COMPLETIONS = "/v1/completions"
CHAT = "/v1/chat/completions"

_TEXT_OF_A_CHAT = ("reasoning_content", "reasoning", "content")  # SGLang, vLLM, everyone


def completions_body(
    prompt: Prompt, load: LoadConfig, *, model: str, spec_details: bool = False
) -> bytes:
    """The JSON body of one completion; the chat template is not applied."""
    body = {"prompt": prompt.text, "max_tokens": load.max_new_tokens}
    return orjson.dumps(body | _shared(prompt, load, model, spec_details))


def chat_body(prompt: Prompt, load: LoadConfig, *, model: str, spec_details: bool = False) -> bytes:
    """The JSON body of one chat; a prompt that is only text is what the user says."""
    messages = prompt.messages or (("user", prompt.text),)
    body: dict[str, Any] = {
        "messages": [{"role": role, "content": content} for role, content in messages],
        "max_completion_tokens": load.max_new_tokens,
    }
    if load.thinking is not None:
        body["chat_template_kwargs"] = thinking_arguments(load.thinking)
    return orjson.dumps(body | _shared(prompt, load, model, spec_details))


def thinking_arguments(thinking: bool) -> dict[str, bool]:
    """Templates disagree about the name: Qwen's and GLM's, then DeepSeek's and Kimi's."""
    return {"enable_thinking": thinking, "thinking": thinking}


def _shared(prompt: Prompt, load: LoadConfig, model: str, spec_details: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "temperature": load.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if load.ignore_eos:
        body["ignore_eos"] = True
    if load.temperature > 0:
        body["seed"] = sampling_seed(prompt, load)
    if spec_details:
        body["return_spec_tokens_details"] = True
    return body


class OpenAiAnswer:
    """Takes the bytes of one streamed answer as they arrive, and makes the record of it."""

    def __init__(self) -> None:
        self.stamps: list[float] = []  # one an event with text, time.perf_counter()
        self._splitter = SseSplitter()
        self._texts: list[str] = []
        self._finish_reason: str | None = None
        self._usage: Mapping[str, Any] | None = None
        self._spec: Mapping[str, Any] = {}
        self._error: str | None = None

    def feed(self, at: float, piece: bytes) -> None:
        """Take a piece of the answer's body.

        Raises:
            BadAnswer: this cannot be an answer of OpenAI's API.
        """
        for event in self._splitter.feed(piece):
            self._take(at, event)

    def take_events(self, stamps: list[float], events: list[bytes]) -> None:
        """Take events of one line each, which arrived whole; else as `feed`."""
        for at, event in zip(stamps, events, strict=True):
            self._take(at, event)

    def _take(self, at: float, event: bytes) -> None:
        if event != b"[DONE]" and self._read(json_object(event)):
            self.stamps.append(at)

    def outcome(
        self, exchange: Exchange, prompt: Prompt, *, sent_s: float, lateness_s: float
    ) -> RequestOutcome:
        """The record of the answer, once the exchange is over. Never raises for what it held."""
        try:
            return self._completed(exchange, prompt, sent_s=sent_s, lateness_s=lateness_s)
        except BadAnswer as cause:
            return RequestFailed(prompt.prompt_id, sent_s, lateness_s, str(cause), exchange.status)

    def _completed(
        self, exchange: Exchange, prompt: Prompt, *, sent_s: float, lateness_s: float
    ) -> RequestCompleted:
        refuse_incomplete(exchange, self._error, len(self.stamps), self._splitter.unfinished)
        if self._finish_reason is None:
            raise BadAnswer("the stream ended without a finish_reason")
        if self._finish_reason == "abort":
            raise BadAnswer("the server aborted the request: it does not say why")
        if self._usage is None:
            raise BadAnswer("the server reports no usage, so nobody knows how many tokens came")
        cached = self._usage.get("prompt_tokens_details")
        return RequestCompleted(
            prompt_id=prompt.prompt_id,
            sent_s=sent_s,
            lateness_s=lateness_s,
            ttft_s=self.stamps[0] - exchange.sent_at,
            e2e_s=self.stamps[-1] - exchange.sent_at,
            prompt_tokens=count(self._usage, "prompt_tokens", required=True, where="usage"),
            completion_tokens=count(self._usage, "completion_tokens", required=True, where="usage"),
            output_ids=None,
            output_logprobs=None,
            finish_reason=self._finish_reason,
            retractions=None,
            cached_tokens=count(cached, "cached_tokens", where="usage.prompt_tokens_details")
            if isinstance(cached, dict)
            else None,
            verify_ct=count(self._spec, "spec_verify_ct", where="spec_tokens_details"),
            correct_drafts=count(
                self._spec, "spec_num_correct_drafts", where="spec_tokens_details"
            ),
            committed_drafts=None,
            histogram=counts(self._spec, "spec_correct_drafts_histogram") or None,
            chunk_offsets_s=tuple([stamp - exchange.sent_at for stamp in self.stamps]),
            text="".join(self._texts),
        )

    def _read(self, answer: Mapping[str, Any]) -> bool:
        """Note what an event says; True when it carries text."""
        if "error" in answer:
            self._error = f"the server reports an error: {message_of(answer['error'])}"
            return False
        usage, extension = answer.get("usage"), answer.get("sglext")
        if isinstance(usage, dict):
            self._usage = usage
        if isinstance(extension, dict) and isinstance(extension.get("spec_tokens_details"), dict):
            self._spec = extension["spec_tokens_details"]
        choices = answer.get("choices")
        if not isinstance(choices, list):
            raise BadAnswer("an event without choices: this is not OpenAI's API")
        if not choices:
            return False
        choice = choices[0]
        if not isinstance(choice, dict):
            raise BadAnswer(f"a choice is {shown(repr(choice))}, not an object")
        reason = choice.get("finish_reason")
        if reason is not None:
            self._finish_reason = str(reason)
        text = _text_of(choice)
        if text:
            self._texts.append(text)
        return bool(text)


def _text_of(choice: Mapping[str, Any]) -> str:
    """What one event adds to the answer, reasoning included."""
    delta = choice.get("delta")
    if isinstance(delta, dict):
        parts = [delta.get(name) for name in _TEXT_OF_A_CHAT]
    else:
        parts = [choice.get("text")]
    said = [part for part in parts if part is not None]
    for part in said:
        if not isinstance(part, str):
            raise BadAnswer(f"text is {shown(repr(part))}, not a string")
    return "".join(said)
