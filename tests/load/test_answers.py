"""What a server sends against what is recorded; every answer comes from a real socket."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ddbench.records import RequestCompleted, RequestFailed

STREAMS = Path(__file__).parent.parent / "fixtures" / "streams"
TEXT = "Grüße, 世界 🌍"

WELL_ANSWERED = [
    "healthy",
    "incremental",
    "compact-incremental",
    "crlf",
    "without-space",
    "comments",
    "extensions-and-trailers",
    "content-length",
    "closes-politely",
    "continue-first",
    "split-anywhere",
    "until-close",
]

BADLY_ANSWERED = {
    "half-event": "the stream ended inside an event",
    "no-finish-reason": "the stream ended without a finish_reason",
    "no-events": "the stream ended before any token",
    "empty": "the stream ended before any token",
    "invalid-json": "an event is not JSON",
    "not-an-object": "an event is not a JSON object",
    "nan": "an event is not JSON",
    "no-meta-info": "an event without meta_info",
    "meta-info-is-a-list": "an event without meta_info",
    "tokens-is-text": "meta_info.completion_tokens is '6', not a whole number",
    "tokens-is-true": "meta_info.completion_tokens is True, not a whole number",
    "tokens-is-negative": "meta_info.completion_tokens is -6, not a whole number",
    "tokens-is-a-fraction": "meta_info.completion_tokens is 6.5, not a whole number",
    "no-tokens": "meta_info lacks completion_tokens",
    "no-prompt-tokens": "meta_info lacks prompt_tokens",
    "verify-ct-is-text": "meta_info.spec_verify_ct is '3', not a whole number",
    "histogram-is-a-number": "meta_info.spec_correct_drafts_histogram is 3, not a list",
    "histogram-holds-null": "meta_info.spec_correct_drafts_histogram is None, not a whole",
    "finish-reason-is-a-number": "meta_info.finish_reason is 3",
    "null-logprob": "output_token_logprobs[0] is None, not a number",
    "too-few-logprobs": "5 logprobs for 6 tokens",
    "ids-are-text": "output_ids is 'a', not a whole number",
    "text-is-a-number": "text is 7, not a string",
    "error-first": "the server reports an error: Out of memory even after retracting.",
    "error-midway": "the server reports an error: Out of memory even after retracting.",
    "error-beside-text": "the server reports an error: Out of memory even after retracting.",
    "compact-error": "the server reports an error: Out of memory even after retracting.",
    "compact-only-error": "the server reports an error: Out of memory even after retracting.",
    "compact-invalid-json": "an event is not JSON",
    "compact-two-in-one": "an event is not JSON",
    "aborted": "the server aborted the request: Aborted by the user.",
    "http-400": "HTTP 400: Out of memory even after retracting.",
    "http-500": "HTTP 500: Internal Server Error",
    "http-503-empty": "HTTP 503: an empty answer",
    "http-500-endless": "HTTP 500: xxxx",
    "http-422-chunked": "HTTP 422: field required",
    "redirect": "HTTP 307: an empty answer",
    "not-http": "the answer is not HTTP/1.x: 'SSH-2.0",
    "header-without-colon": "a header without a colon",
    "endless-head": "a response head longer than",
    "gzip": "transfer-encoding 'gzip, chunked' was not asked for",
    "bad-length": "content-length is 'many', not a number",
    "bad-chunk-size": "a chunk without a size",
    "short-chunk": "a chunk does not end where it should",
    "bytes-after-the-end": "bytes after the end of the answer",
    "cut-in-a-chunk": "the connection was closed in the middle of the answer after 3 events",
    "cut-between-chunks": "the connection was closed in the middle of the answer after 3 events",
    "hang-up": "the connection was closed before an answer",
    "reset": "the connection was reset before an answer",
    "reset-midway": "the connection was reset in the middle of the answer after 3 events",
}


@pytest.mark.parametrize("manner", WELL_ANSWERED)
def test_a_good_answer_is_read_whatever_its_wrapping(manner: str, rude_url: str, ask: Any) -> None:
    (request,) = ask(rude_url, manner).requests

    assert isinstance(request, RequestCompleted), request
    assert request.text == TEXT
    assert request.output_ids == (100, 101, 102, 103, 104, 105)
    assert (request.prompt_tokens, request.completion_tokens) == (3, 6)
    assert request.finish_reason == "stop"
    assert (request.retractions, request.cached_tokens) == (0, 0)
    assert (request.verify_ct, request.correct_drafts) == (3, 2)
    assert request.histogram == (1, 2)
    assert request.committed_drafts is None
    assert request.output_logprobs is None
    assert len(request.chunk_offsets_s) == 6
    assert request.chunk_offsets_s[0] == request.ttft_s > 0
    assert request.chunk_offsets_s[-1] == request.e2e_s
    assert list(request.chunk_offsets_s) == sorted(request.chunk_offsets_s)


@pytest.mark.parametrize("manner", BADLY_ANSWERED)
def test_a_bad_answer_fails_with_a_sentence(manner: str, rude_url: str, ask: Any) -> None:
    before, request, after = ask(rude_url, "healthy", manner, "healthy").requests

    assert isinstance(request, RequestFailed), request
    assert BADLY_ANSWERED[manner] in request.reason
    assert len(request.reason) < 400
    assert "\n" not in request.reason
    assert isinstance(before, RequestCompleted)
    assert isinstance(after, RequestCompleted), "the next request must not suffer"


def test_the_http_status_is_kept(rude_url: str, ask: Any) -> None:
    outcome = ask(rude_url, "http-400", "http-503-empty", "error-midway", "hang-up")

    assert [request.http_status for request in outcome.requests] == [400, 503, 200, None]


def test_a_text_that_looks_like_the_end_of_an_event_is_text(rude_url: str, ask: Any) -> None:
    (request,) = ask(rude_url, "compact-tricky").requests

    assert isinstance(request, RequestCompleted), request
    assert request.text == 'a","meta_info":{' * 4


def test_increments_are_put_together_even_when_a_token_repeats(rude_url: str, ask: Any) -> None:
    (request,) = ask(rude_url, "incremental-first-token-twice").requests

    assert request.output_ids == (7, 7)
    assert request.text == "aa"


def test_one_event_is_a_whole_answer(rude_url: str, ask: Any) -> None:
    (request,) = ask(rude_url, "one-event").requests

    assert request.completion_tokens == 3
    assert request.ttft_s == request.e2e_s
    assert request.verify_ct is None, "not measured, and not 0"


def test_a_server_without_output_ids_still_gives_its_text(rude_url: str, ask: Any) -> None:
    (request,) = ask(rude_url, "without-ids").requests

    assert request.output_ids is None
    assert request.text == TEXT


def test_logprobs_are_those_of_the_output(rude_url: str, ask: Any) -> None:
    (request,) = ask(rude_url, "logprobs", logprobs=True).requests

    assert request.output_logprobs == (0.0, -0.5, -1.0, -1.5, -2.0, -2.5)


def test_the_old_count_of_accepted_drafts_is_the_committed_one(rude_url: str, ask: Any) -> None:
    old, ours = ask(rude_url, "0.5.11", "committed").requests

    assert (old.correct_drafts, old.committed_drafts, old.histogram) == (None, 2, None)
    assert old.retractions == 1
    assert (ours.correct_drafts, ours.committed_drafts) == (2, 2)


@pytest.mark.parametrize("stream", sorted(STREAMS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_captured_stream_is_recorded_as_its_last_event_says(
    stream: Path, start: Callable[..., Any], ask: Any
) -> None:
    lines = [json.loads(line)["line"] for line in stream.read_text().splitlines()]
    last = json.loads(lines[-2].removeprefix("data: "))
    meta = last["meta_info"]

    with start("rude_server.py", "--replay", stream) as base_url:
        requests = ask(base_url, "one", "two").requests

    for request in requests:
        assert isinstance(request, RequestCompleted), request
        assert request.text == last["text"]
        assert list(request.output_ids or ()) == last["output_ids"]
        assert request.completion_tokens == meta["completion_tokens"] == 24
        assert request.prompt_tokens == meta["prompt_tokens"]
        assert request.cached_tokens == meta["cached_tokens"]
        assert request.finish_reason == meta["finish_reason"]["type"]
        assert request.verify_ct == meta.get("spec_verify_ct")
        assert request.correct_drafts == meta.get("spec_num_correct_drafts")
        assert request.committed_drafts == meta.get("spec_accepted_drafts")
        histogram = meta.get("spec_correct_drafts_histogram")
        assert request.histogram == (None if histogram is None else tuple(histogram))
        assert request.retractions == meta.get("num_retractions", meta.get("total_retractions"))
        assert len(request.chunk_offsets_s) == len(lines) - 1
