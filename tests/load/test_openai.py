"""OpenAI's routes, against a server of that API as a process of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from ddbench.errors import LoadError
from ddbench.load.http_stream import Exchange
from ddbench.load.openai import OpenAiAnswer
from ddbench.load.run import run_load
from ddbench.records import LoadConfig, LoadOutcome, Prompt, RequestCompleted, RequestFailed, Route

STREAMS = Path(__file__).parent.parent / "fixtures" / "chat-streams"
TEXT = "Grüße, 世界 🌍"
KEY = "sk-not-a-real-key-4711"
BAD = {
    "no-usage": "the server reports no usage",
    "no-finish": "the stream ended without a finish_reason",
    "aborted": "the server aborted the request",
    "error-midway": "the server reports an error: out of memory",
    "no-choices": "an event without choices: this is not OpenAI's API",
    "text-is-a-number": "text is 7, not a string",
    "usage-is-text": "usage.completion_tokens is '7', not a whole number",
}


def send(base_url: str, *texts: str, route: Route = "chat", **load: Any) -> LoadOutcome:
    prompts = [Prompt(f"p{n}", text) for n, text in enumerate(texts)]
    return run_load(base_url, prompts, LoadConfig("t", len(texts), 1, 8, route=route, **load))


@pytest.mark.parametrize("route", ["chat", "completions"])
def test_text_comes_from_events_and_tokens_from_usage(
    route: Route, start: Callable[..., Any]
) -> None:
    with start("openai_server.py") as base_url:
        (request,) = send(base_url, "healthy", route=route).requests

    assert isinstance(request, RequestCompleted), request
    assert request.text == TEXT
    assert (request.prompt_tokens, request.completion_tokens) == (5, 7)
    assert request.cached_tokens == 2
    assert request.finish_reason == "length"
    assert len(request.chunk_offsets_s) == 4, "neither the role nor the usage is a chunk"
    assert request.chunk_offsets_s[0] == request.ttft_s > 0
    assert request.chunk_offsets_s[-1] == request.e2e_s
    assert (request.output_ids, request.verify_ct, request.histogram) == (None, None, None)


@pytest.mark.parametrize("route", ["chat", "completions"])
def test_sglang_tells_what_its_speculation_did(route: Route, start: Callable[..., Any]) -> None:
    with start("openai_server.py", "--owner", "sglang") as base_url:
        (request,) = send(base_url, "healthy", route=route).requests

    assert isinstance(request, RequestCompleted), request
    assert (request.verify_ct, request.correct_drafts) == (4, 3)
    assert request.histogram == (2, 1, 1)
    assert request.committed_drafts is None


def test_what_is_asked_for(start: Callable[..., Any]) -> None:
    prompts = [Prompt("a", "x"), Prompt("b", "", messages=(("system", "s"), ("user", "u")))]
    load = LoadConfig(
        "t", 2, 1, 8, temperature=0.5, seed=3, ignore_eos=True, route="chat", thinking=False
    )
    with start("openai_server.py") as base_url:
        run_load(base_url, prompts, load)
        first, second = requests.get(f"{base_url}/asked", timeout=30).json()

    assert first["path"] == "/v1/chat/completions"
    assert first["model"] == "org/model"
    assert first["messages"] == [{"role": "user", "content": "x"}]
    assert (first["max_completion_tokens"], first["temperature"]) == (8, 0.5)
    assert first["stream_options"] == {"include_usage": True}
    assert first["ignore_eos"] is True
    assert first["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    assert first["seed"] != second["seed"]
    assert "return_spec_tokens_details" not in first, "only SGLang knows it"
    assert second["messages"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
    ]


def test_reasoning_is_output_too(start: Callable[..., Any]) -> None:
    with start("openai_server.py") as base_url:
        (request,) = send(base_url, "reasons").requests

    assert isinstance(request, RequestCompleted), request
    assert request.text == "Hm. " + TEXT
    assert len(request.chunk_offsets_s) == 5


def test_a_bad_answer_fails_with_a_sentence(start: Callable[..., Any]) -> None:
    with start("openai_server.py") as base_url:
        answers = send(base_url, *BAD, "healthy").requests

    *bad, healthy = answers
    for request, expected in zip(bad, BAD.values(), strict=True):
        assert isinstance(request, RequestFailed), request
        assert expected in request.reason
    assert isinstance(healthy, RequestCompleted)


def test_a_key_comes_from_the_environment_and_is_repeated_nowhere(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    with start("openai_server.py", "--key", KEY) as base_url:
        outcome = send(base_url, "healthy", "repeats-the-key", api_key_env="TEST_KEY")

    healthy, refused = outcome.requests
    assert isinstance(healthy, RequestCompleted)
    assert isinstance(refused, RequestFailed)
    assert refused.reason == "HTTP 400: odd key Bearer [api key]"
    assert KEY not in repr(outcome)


def test_a_missing_key_is_named(start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    with start("openai_server.py", "--key", KEY) as base_url:
        with pytest.raises(LoadError, match=r"\$TEST_KEY, which is not set"):
            send(base_url, "healthy", api_key_env="TEST_KEY")
        with pytest.raises(LoadError, match="/v1/models answers 401") as caught:
            send(base_url, "healthy")

    assert "api_key_env" in caught.value.remedy


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel"])
def test_a_key_that_no_head_can_carry_is_refused(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", key)

    with pytest.raises(LoadError, match="a character that no API key has") as caught:
        send("http://127.0.0.1:1", "healthy", api_key_env="TEST_KEY")

    assert key not in str(caught.value)


def test_a_server_without_models_is_refused(start: Callable[..., Any]) -> None:
    with start("openai_server.py", "--no-models") as base_url:
        with pytest.raises(LoadError, match="names no model"):
            send(base_url, "healthy")


def test_the_key_goes_to_sglangs_own_route_too(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    with start("openai_server.py", "--key", KEY) as base_url:
        (refused,) = send(base_url, "x", route="generate").requests
        (known,) = send(base_url, "x", route="generate", api_key_env="TEST_KEY").requests

    assert isinstance(refused, RequestFailed)
    assert isinstance(known, RequestFailed)
    assert (refused.http_status, known.http_status) == (401, 404)


@pytest.mark.parametrize("stream", sorted(STREAMS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_captured_chat_is_recorded(stream: Path) -> None:
    lines = [json.loads(line)["line"] for line in stream.read_text().splitlines()]
    answer = OpenAiAnswer()

    for number, line in enumerate(lines):
        answer.feed(float(number), f"{line}\n\n".encode())
    exchange = Exchange(sent_at=0.0, ended_at=9e9, status=200, failure=None)
    request = answer.outcome(exchange, Prompt("p", "x"), sent_s=0.0, lateness_s=0.0)

    assert isinstance(request, RequestCompleted), request
    assert (request.prompt_tokens, request.completion_tokens) == (16, 24)
    assert request.finish_reason == "length"
    assert request.ttft_s == 1.0, "the first event only gives the role"
    assert request.e2e_s == len(lines) - 4, "then come the reason, the usage and the end"
    assert request.text is not None
    assert request.text.startswith("ds")
    assert request.text.endswith(" if")
    assert request.verify_ct is None
