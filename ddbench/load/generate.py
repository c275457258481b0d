"""SGLang's own route, /generate, streaming: the request, and the record of its answer.

Under speculation one streamed event carries several tokens: tokens are counted from the server's
meta_info, never from events. By default each event repeats the whole answer so far, so only the
last one is parsed; a server started to stream increments sends what is new, and then each event is,
several at a time and without the meta_info that all but the last repeat.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from ddbench.draft_records import request_id
from ddbench.load.answer import json_object, message_of, refuse_incomplete
from ddbench.load.bad_answer import BadAnswer, shown
from ddbench.load.http_stream import Exchange
from ddbench.load.meta_info import count, counts, finish_reason, listed, logprobs, whole_numbers
from ddbench.load.sampling_seed import sampling_seed
from ddbench.load.sse import SseSplitter
from ddbench.records import LoadConfig, Prompt, RequestCompleted, RequestFailed, RequestOutcome

ROUTE = "/generate"

_HELD_EVENTS = 16
_META_INFO = b',"meta_info":{'  # a key: inside of a JSON string its quotes would be escaped


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
        sampling["sampling_seed"] = sampling_seed(prompt, load)
    body: dict[str, Any] = {"text": prompt.text, "sampling_params": sampling, "stream": True}
    if load.logprobs:
        body["return_logprob"] = True
    if load.record_drafts:
        body["rid"] = request_id(prompt.prompt_id)  # the server writes it beside the drafts
    return orjson.dumps(body)


class GenerateAnswer:
    """Takes the bytes of one streamed answer as they arrive, and makes the record of it.

    What the server sent is kept as it came, and checked when the record is made.
    """

    def __init__(self) -> None:
        self.stamps: list[float] = []  # one an event with tokens, time.perf_counter()
        self._splitter = SseSplitter()
        self._repeats: bool | None = None  # each event holds the whole answer so far
        self._alike = b""  # how an event of this stream begins
        self._last = b""
        self._held: list[bytes] = []  # increments that are not parsed yet
        self._error: str | None = None
        self._tokens = 0  # as of the first event that has some
        self._texts: list[Any] | None = []  # these three: None where the server leaves one out
        self._ids: list[Any] | None = []
        self._logprobs: list[Any] | None = []

    def feed(self, at: float, piece: bytes) -> None:
        """Take a piece of the answer's body.

        Raises:
            BadAnswer: this cannot be an answer of /generate.
        """
        events = self._splitter.feed(piece)
        self.take_events([at] * len(events), events)

    def take_events(self, stamps: list[float], events: list[bytes]) -> None:
        """Take events of one line each, which arrived whole; else as `feed`."""
        if self._repeats is None or b"[DONE]" in events:
            for at, event in zip(stamps, events, strict=True):
                self._take(at, event)
        elif self._repeats:
            self._take_repeats(stamps, events)
        elif events:
            self._hold(stamps, events)

    def _take(self, at: float, event: bytes) -> None:
        """Take one event, of any kind."""
        if event == b"[DONE]":
            return
        if self._repeats is False:
            self._hold([at], [event])
        elif self._read(event):
            self._last = event
            self.stamps.append(at)

    def _take_repeats(self, stamps: list[float], events: list[bytes]) -> None:
        """Only the last counts, unless one does not look like the others: an error has other keys.

        And if it had the same, it would still be the last event.
        """
        for at, event in zip(stamps, events, strict=True):
            if (event.startswith(self._alike) and event.endswith(b"}")) or self._read(event):
                self._last = event
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
        self._parse_held()
        refuse_incomplete(exchange, self._error, len(self.stamps), self._splitter.unfinished)
        answer = json_object(self._last)
        if "error" in answer:
            raise BadAnswer(f"the server reports an error: {message_of(answer['error'])}")
        if self._repeats:
            self._forget_tokens()
            self._add_tokens(answer)
        meta = _meta_info(answer)
        reason, message = finish_reason(meta)
        if reason == "abort":
            why = shown(message or "it does not say why")
            raise BadAnswer(f"the server aborted the request: {why}")
        completion_tokens = count(meta, "completion_tokens", required=True)
        return RequestCompleted(
            prompt_id=prompt.prompt_id,
            sent_s=sent_s,
            lateness_s=lateness_s,
            ttft_s=self.stamps[0] - exchange.sent_at,
            e2e_s=self.stamps[-1] - exchange.sent_at,
            prompt_tokens=count(meta, "prompt_tokens", required=True),
            completion_tokens=completion_tokens,
            output_ids=None if self._ids is None else whole_numbers(self._ids, "output_ids"),
            output_logprobs=self._output_logprobs(completion_tokens),
            finish_reason=reason,
            retractions=count(meta, "num_retractions", "total_retractions"),  # 0.5.23, 0.5.11
            cached_tokens=count(meta, "cached_tokens"),
            verify_ct=count(meta, "spec_verify_ct"),
            correct_drafts=count(meta, "spec_num_correct_drafts"),
            # 0.5.11's spec_accepted_drafts is counted after the cut: committed, not correct.
            committed_drafts=count(meta, "spec_num_committed_drafts", "spec_accepted_drafts"),
            histogram=counts(meta, "spec_correct_drafts_histogram", "spec_accept_histogram"),
            chunk_offsets_s=tuple([stamp - exchange.sent_at for stamp in self.stamps]),
            text=None if self._texts is None else _joined(self._texts),
        )

    def _hold(self, stamps: list[float], events: list[bytes]) -> None:
        """Keep increments to be parsed with others."""
        self.stamps += stamps
        self._last = events[-1]
        self._held += events
        if len(self._held) >= _HELD_EVENTS:
            self._parse_held()

    def _parse_held(self) -> None:
        held, self._held = self._held, []
        if self._logprobs is None and b'"error"' not in b"".join(held):
            # Up to its meta_info, where logprobs would be; of one without, all but the last brace.
            parts = [event[: event.find(_META_INFO)] for event in held]
            try:
                answers = orjson.loads(b"[" + b"},".join(parts) + b"}]") if parts else []
            except orjson.JSONDecodeError:
                answers = []
            if len(answers) == len(held) and set(map(type, answers)) <= {dict}:
                self._add_increments(answers)
                return
        for event in held:
            self._read(event)  # says which is bad, and how

    def _add_increments(self, answers: list[dict[str, Any]]) -> None:
        """As _add_tokens of each, without logprobs."""
        texts = [answer.get("text") for answer in answers]
        ids = [answer.get("output_ids") for answer in answers]
        if self._texts is None or None in texts:
            self._texts = None
        else:
            self._texts += texts
        if self._ids is None or None in ids:
            self._ids = None
        else:
            for some in ids:
                self._ids += some if type(some) is list else listed(some, "output_ids")

    def _read(self, event: bytes) -> bool:
        """Parse an event; True when it carries tokens."""
        answer = json_object(event)
        if "error" in answer:
            self._error = f"the server reports an error: {message_of(answer['error'])}"
            return False
        if self._repeats is None and not self._learn(answer):
            return False
        self._add_tokens(answer)
        return True

    def _learn(self, answer: Mapping[str, Any]) -> bool:
        """Find out whether events repeat what came before; False when no token has come yet."""
        total = count(_meta_info(answer), "completion_tokens", required=True)
        if total > 0 and self._tokens > 0:
            self._repeats = self._told_by(total, answer.get("output_ids"), answer.get("text"))
            self._alike = self._last[: self._last.find(b":") + 1]
            if self._repeats:
                self._forget_tokens()
        self._tokens = total
        return total > 0

    def _told_by(self, total: int, ids: object, text: object) -> bool:
        """Whether the second event with tokens repeats those of the first."""
        if isinstance(ids, list) and self._ids is not None:
            if len(ids) in (total, total - self._tokens):
                return len(ids) == total
            return ids[: len(self._ids)] == self._ids
        return isinstance(text, str) and text.startswith(_joined(self._texts or []))

    def _add_tokens(self, answer: Mapping[str, Any]) -> None:
        text, ids = answer.get("text"), answer.get("output_ids")
        logprobs_too = self._logprobs is not None
        entries = _meta_info(answer).get("output_token_logprobs") if logprobs_too else None
        if text is None or self._texts is None:
            self._texts = None
        else:
            self._texts.append(text)
        if ids is None or self._ids is None:
            self._ids = None
        else:
            self._ids += listed(ids, "output_ids")
        if entries is None or self._logprobs is None:
            self._logprobs = None
        else:
            self._logprobs += listed(entries, "meta_info.output_token_logprobs")

    def _forget_tokens(self) -> None:
        self._texts, self._ids, self._logprobs = [], [], []

    def _output_logprobs(self, completion_tokens: int) -> tuple[float, ...] | None:
        if self._logprobs is None:
            return None
        if len(self._logprobs) != completion_tokens:
            raise BadAnswer(f"{len(self._logprobs)} logprobs for {completion_tokens} tokens")
        return logprobs(self._logprobs)


def _meta_info(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = answer.get("meta_info")
    if not isinstance(meta, dict):
        raise BadAnswer("an event without meta_info: this is not SGLang's /generate")
    return meta


def _joined(texts: list[Any]) -> str:
    for text in texts:
        if not isinstance(text, str):
            raise BadAnswer(f"text is {shown(repr(text))}, not a string")
    return "".join(texts)
