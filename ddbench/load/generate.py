"""SGLang's own route, /generate, streaming: the request, and the record of its answer.

Under speculation one streamed event carries several tokens: tokens are counted from the server's
meta_info, never from events. By default each event repeats the whole text so far, so only the last
one is parsed; a server with --incremental-streaming-output (0.5.23; --stream-output before) sends
what is new, and then each event is.
"""

import zlib
from collections.abc import Mapping
from enum import Enum, auto
from typing import Any

import orjson

from ddbench.load.bad_answer import BadAnswer, shown
from ddbench.load.http_stream import Exchange
from ddbench.load.meta_info import count, counts, finish_reason, logprobs, token_ids
from ddbench.load.sse import SseSplitter
from ddbench.records import LoadConfig, Prompt, RequestCompleted, RequestFailed, RequestOutcome

ROUTE = "/generate"


def generate_body(prompt: Prompt, load: LoadConfig) -> bytes:
    """The JSON body of one request.

    With a temperature every prompt draws from its own seed, the same one in every arm.
    """
    sampling: dict[str, Any] = {
        "max_new_tokens": load.max_new_tokens,
        "temperature": load.temperature,
        "ignore_eos": load.ignore_eos,
    }
    if load.temperature > 0:
        sampling["sampling_seed"] = (zlib.crc32(prompt.prompt_id.encode()) + load.seed) % 2**31
    body: dict[str, Any] = {"text": prompt.text, "sampling_params": sampling, "stream": True}
    if load.logprobs:
        body["return_logprob"] = True
    return orjson.dumps(body)


class _Streaming(Enum):
    UNKNOWN = auto()
    CUMULATIVE = auto()
    INCREMENTAL = auto()


class GenerateAnswer:
    """Takes the bytes of one streamed answer as they arrive, and makes the record of it."""

    def __init__(self) -> None:
        self.stamps: list[float] = []  # one an event with tokens, time.perf_counter()
        self._splitter = SseSplitter()
        self._streaming = _Streaming.UNKNOWN
        self._last = b""
        self._error: str | None = None
        self._tokens = 0  # as of the last event that was parsed
        self._ids: list[int] | None = None
        self._text: str | None = None
        self._logprobs: list[float] | None = None

    def feed(self, at: float, piece: bytes) -> None:
        """Raises BadAnswer for what cannot be an answer of /generate."""
        for event in self._splitter.feed(piece):
            unparsed = self._streaming is _Streaming.CUMULATIVE and _looks_healthy(event)
            if unparsed or (event != b"[DONE]" and self._read(event)):
                self._last = event
                self.stamps.append(at)

    def outcome(
        self, exchange: Exchange, prompt: Prompt, *, sent_s: float, lateness_s: float
    ) -> RequestOutcome:
        """The record of the answer, once the exchange is over. Never raises for what it held."""

        def failed(reason: str) -> RequestFailed:
            return RequestFailed(prompt.prompt_id, sent_s, lateness_s, reason, exchange.status)

        if exchange.failure is not None:
            after = f" after {len(self.stamps)} events" if self.stamps else ""
            return failed(self._error or f"{exchange.failure}{after}")
        if exchange.status != 200:
            return failed(f"HTTP {exchange.status}: {_message_in(exchange.error_body)}")
        if self._error is not None:
            return failed(self._error)
        unfinished = self._splitter.unfinished.strip()
        if unfinished:
            return failed(f"the stream ended inside an event: {shown(unfinished)!r}")
        if not self.stamps:
            return failed("the stream ended before any token")
        try:
            return self._completed(exchange, prompt, sent_s=sent_s, lateness_s=lateness_s)
        except BadAnswer as cause:
            return failed(str(cause))

    def _completed(
        self, exchange: Exchange, prompt: Prompt, *, sent_s: float, lateness_s: float
    ) -> RequestCompleted | RequestFailed:
        answer = _json_object(self._last)
        if self._streaming is _Streaming.CUMULATIVE:
            self._take_tokens(answer)
        meta = _meta_info(answer)
        reason, message = finish_reason(meta)
        if reason == "abort":
            return RequestFailed(
                prompt.prompt_id,
                sent_s,
                lateness_s,
                f"the server aborted the request: {shown(message or 'it does not say why')}",
                exchange.status,
            )
        completion_tokens = count(meta, "completion_tokens", required=True)
        if self._logprobs is not None and len(self._logprobs) != completion_tokens:
            raise BadAnswer(f"{len(self._logprobs)} logprobs for {completion_tokens} tokens")
        return RequestCompleted(
            prompt_id=prompt.prompt_id,
            sent_s=sent_s,
            lateness_s=lateness_s,
            ttft_s=self.stamps[0] - exchange.sent_at,
            e2e_s=self.stamps[-1] - exchange.sent_at,
            prompt_tokens=count(meta, "prompt_tokens", required=True),
            completion_tokens=completion_tokens,
            output_ids=None if self._ids is None else tuple(self._ids),
            output_logprobs=None if self._logprobs is None else tuple(self._logprobs),
            finish_reason=reason,
            retractions=count(meta, "num_retractions", "total_retractions"),  # 0.5.23, 0.5.11
            cached_tokens=count(meta, "cached_tokens"),
            verify_ct=count(meta, "spec_verify_ct"),
            correct_drafts=count(meta, "spec_num_correct_drafts"),
            # 0.5.11's spec_accepted_drafts is counted after the cut: committed, not correct.
            committed_drafts=count(meta, "spec_num_committed_drafts", "spec_accepted_drafts"),
            histogram=counts(meta, "spec_correct_drafts_histogram", "spec_accept_histogram"),
            chunk_offsets_s=tuple(stamp - exchange.sent_at for stamp in self.stamps),
            text=self._text,
        )

    def _read(self, event: bytes) -> bool:
        """Parse an event; True when it carries tokens."""
        answer = _json_object(event)
        if "error" in answer:
            self._error = f"the server reports an error: {_message_of(answer['error'])}"
            return False
        if count(_meta_info(answer), "completion_tokens", required=True) == 0:
            return False
        self._take_tokens(answer)
        return True

    def _take_tokens(self, answer: Mapping[str, Any]) -> None:
        """Add the event's tokens to what came before, or put them in its place."""
        meta = _meta_info(answer)
        total = count(meta, "completion_tokens", required=True)
        ids, text, logprob = token_ids(answer), _text_of(answer), logprobs(meta)
        if self._streaming is _Streaming.UNKNOWN and self._tokens:
            self._streaming = self._told_by(total, ids, text)
        if self._streaming is _Streaming.INCREMENTAL:
            self._ids = None if ids is None or self._ids is None else self._ids + ids
            self._text = None if text is None or self._text is None else self._text + text
            if logprob is not None and len(logprob) < total:  # 0.5.11 repeats them all the same
                logprob = (self._logprobs or []) + logprob
        else:
            self._ids, self._text = ids, text
        self._logprobs, self._tokens = logprob, total

    def _told_by(self, total: int, ids: list[int] | None, text: str | None) -> _Streaming:
        """What the second event with tokens says of the stream."""
        if ids is not None and self._ids is not None:
            if len(ids) == total:
                return _Streaming.CUMULATIVE
            if len(ids) == total - self._tokens:
                return _Streaming.INCREMENTAL
            repeats = ids[: len(self._ids)] == self._ids
        else:
            repeats = text is not None and text.startswith(self._text or "")
        return _Streaming.CUMULATIVE if repeats else _Streaming.INCREMENTAL


def _looks_healthy(event: bytes) -> bool:
    """Cheap: a quote inside a text is escaped, so this finds the key and no text."""
    return event.startswith(b"{") and event.endswith(b"}") and b'"error"' not in event


def _json_object(event: bytes) -> dict[str, Any]:
    try:
        answer = orjson.loads(event)
    except orjson.JSONDecodeError as cause:
        raise BadAnswer(f"an event is not JSON ({cause}): {shown(event)}") from cause
    if not isinstance(answer, dict):
        raise BadAnswer(f"an event is not a JSON object: {shown(event)}")
    return answer


def _meta_info(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = answer.get("meta_info")
    if not isinstance(meta, dict):
        raise BadAnswer("an event without meta_info; is this SGLang's /generate?")
    return meta


def _text_of(answer: Mapping[str, Any]) -> str | None:
    text = answer.get("text")
    if text is not None and not isinstance(text, str):
        raise BadAnswer(f"text is {text!r}, not a string")
    return text


def _message_of(error: object) -> str:
    message = error.get("message", error) if isinstance(error, dict) else error
    return shown(str(message))


def _message_in(error_body: bytes) -> str:
    """What an answer other than 200 says: SGLang's error object, FastAPI's detail, or its bytes."""
    try:
        answer = orjson.loads(error_body)
    except orjson.JSONDecodeError:
        return shown(error_body) or "an empty answer"
    if isinstance(answer, dict):
        for key in ("error", "detail", "message"):
            if key in answer:
                return _message_of(answer[key])
    return shown(error_body)
