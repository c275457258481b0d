"""Result files of other tools: what they say is what is read, and anything else is a sentence."""

import json
import math
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddbench.errors import LogFormatError
from ddbench.records import RequestCompleted, RequestFailed, ToolResult
from ddbench.runs.foreign.read import MOST_BYTES, is_tool_result, read_tool_results

TOOLS = Path(__file__).parent.parent / "fixtures" / "tools"
SERVING = TOOLS / "sglang-0.5.23-bench-serving.jsonl"
AIPERF = TOOLS / "aiperf-0.13.0-profile-export.json"
DETAILS = TOOLS / "sglang-0.5.23-bench-serving-details.jsonl"
VLLM = {  # typed from the tool's source: it was never run
    "date": "20261130-060000",
    "endpoint_type": "openai",
    "backend": "vllm",
    "model_id": "m",
    "tokenizer_id": "m",
    "num_prompts": 100,
    "request_rate": "inf",
    "max_concurrency": None,
    "duration": 10.0,
    "completed": 98,
    "failed": 2,
    "total_input_tokens": 5000,
    "total_output_tokens": 20000,
    "request_throughput": 9.8,
    "output_throughput": 2000.0,
    "total_token_throughput": 2500.0,
    "spec_decode_acceptance_rate": 40.0,
    "spec_decode_acceptance_length": 2.6,
    "spec_decode_num_drafts": 5000,
    "spec_decode_draft_tokens": 20000,
    "spec_decode_accepted_tokens": 8000,
    "spec_decode_per_position_acceptance_rates": [0.7, 0.45, 0.3, 0.15],
    "mean_ttft_ms": 40.0,
    "median_ttft_ms": 38.0,
    "p99_ttft_ms": 90.0,
    "mean_e2el_ms": 900.0,
    "mean_tpot_ms": 4.0,
    "mean_itl_ms": 10.0,
}


@pytest.fixture
def saved(tmp_path):
    """saved(text or bytes): a file of it."""

    def save(content) -> Path:
        path = tmp_path / "result.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save


def test_bench_serving_is_read_with_its_bare_infinity():
    said = json.loads(SERVING.read_text())

    (result,) = read_tool_results(SERVING)

    assert result.tool == "SGLang bench_serving"
    assert result.seen
    assert result.request_rate_per_s == math.inf
    assert result.asked_concurrency is None
    assert result.completed == said["completed"] == 16
    assert result.output_tokens == said["total_output_tokens"]
    assert result.accept_length == said["accept_length"]
    assert result.accept_length_is_lifetime
    assert result.percentiles["ttft_ms"]["p99"] == said["p99_ttft_ms"]
    assert result.settings["speculative_algorithm"] == "DFLASH"
    assert result.requests == ()


def test_details_of_bench_serving_become_requests():
    said = json.loads(DETAILS.read_text())

    (result,) = read_tool_results(DETAILS)

    assert len(result.requests) == 16
    first = result.requests[0]
    assert isinstance(first, RequestCompleted)
    assert first.completion_tokens == said["output_lens"][0]
    assert first.ttft_s == said["ttfts"][0]
    assert first.e2e_s == pytest.approx(said["ttfts"][0] + sum(said["itls"][0]))
    assert first.text == said["generated_texts"][0]
    assert first.verify_ct is None


def test_a_request_with_an_error_has_failed(saved):
    said = json.loads(DETAILS.read_text())
    said["errors"][3] = "Connection reset"

    (result,) = read_tool_results(saved(json.dumps(said)))

    assert result.failed == 1
    assert result.requests[3] == RequestFailed("request 4", 0.0, 0.0, "Connection reset")


def test_lines_that_were_appended_are_runs_of_their_own(saved):
    path = saved(SERVING.read_text() + "\n" + SERVING.read_text())

    assert len(read_tool_results(path)) == 2


def test_vllm_percentages_become_shares_and_the_format_was_never_seen(saved):
    (result,) = read_tool_results(saved(json.dumps(VLLM)))

    assert not result.seen
    assert result.accept_rate == 0.4
    assert result.request_rate_per_s == math.inf
    assert result.failed == 2
    assert result.position_rates == (0.7, 0.45, 0.3, 0.15)
    assert result.percentiles["e2e_latency_ms"] == {"mean": 900.0}


def test_aiperf_names_are_translated():
    said = json.loads(AIPERF.read_text())

    (result,) = read_tool_results(AIPERF)

    assert (result.tool, result.seen) == ("AIPerf", True)
    assert (result.completed, result.failed) == (16, 0)
    assert result.asked_concurrency == 4
    assert result.achieved_concurrency == said["effective_concurrency"]["avg"]
    assert result.output_tokens == said["total_osl"]["avg"]
    assert result.recounted_output_tokens == said["total_usage_completion_tokens"]["avg"]
    assert result.percentiles["tpot_ms"]["mean"] == said["inter_token_latency"]["avg"]
    assert result.percentiles["itl_ms"]["p99"] == said["inter_chunk_latency"]["p99"]
    assert result.accept_length is None


def test_seconds_of_aiperf_become_milliseconds(saved):
    said = json.loads(AIPERF.read_text())
    said["request_latency"] |= {"unit": "sec", "p50": 1.25}

    (result,) = read_tool_results(saved(json.dumps(said)))

    assert result.percentiles["e2e_latency_ms"]["median"] == 1250.0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no JSON object"),
        (b"{", "line 1 is no JSON"),
        (b"[1, 2]", "no objects"),
        (b'{"a": 1}', "no tool that is known"),
        (b"\x80\x04\x95pickled", "no JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (json.dumps(VLLM | {"duration": "long"}), "duration is 'long', not a number"),
        (json.dumps(VLLM | {"completed": -1}), "not a number of at least 0"),
        (json.dumps(VLLM | {"completed": 1.5}), "not a whole number"),
        (json.dumps(VLLM | {"duration": math.nan}), "not a number of at least 0"),
        (json.dumps(VLLM | {"duration": True}), "not a number"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else "",
)
def test_what_cannot_be_read_is_a_sentence(saved, content, words):
    with pytest.raises(LogFormatError, match=words) as caught:
        read_tool_results(saved(content))

    assert caught.value.remedy.endswith(".")


def test_a_file_of_500_mib_is_refused_unread(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.write(b"{")
        file.truncate(500 << 20)
    assert path.stat().st_size > MOST_BYTES

    with pytest.raises(LogFormatError, match="500 MiB are more than"):
        read_tool_results(path)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_are_more_than_a_sentence(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "result.json"
    path.write_bytes(content)

    with pytest.raises(LogFormatError):
        read_tool_results(path)


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "source", [SERVING, DETAILS, VLLM, AIPERF], ids=["serving", "details", "vllm", "aiperf"]
)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_changed_field_is_read_as_it_is_or_refused(tmp_path_factory, source, data):
    """Never a traceback, and never a figure that is not in the file."""
    said = dict(source if isinstance(source, dict) else json.loads(source.read_text()))
    key = data.draw(st.sampled_from(sorted(said)))
    said[key] = data.draw(any_json)
    path = tmp_path_factory.mktemp("changed") / "result.json"
    path.write_text(json.dumps(said))

    try:
        (result,) = read_tool_results(path)
    except LogFormatError:
        return

    assert figures(result) <= numbers_in(said)


def figures(result: ToolResult) -> set[float]:
    plain = (
        result.duration_s, result.accept_length, result.achieved_concurrency, result.completed,
        result.input_tokens, result.output_tokens, result.output_tokens_per_s,
    )  # fmt: skip
    ordered = [value for values in result.percentiles.values() for value in values.values()]
    return {
        float(value) for value in (*plain, *ordered, *result.position_rates) if value is not None
    }


def numbers_in(value: object) -> set[float]:
    if isinstance(value, dict):
        return set().union(*(numbers_in(each) for each in value.values()))
    if isinstance(value, list):
        return set().union(*(numbers_in(each) for each in value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {float(value)} if abs(value) <= sys.float_info.max else {math.inf}
    return set()


@pytest.mark.parametrize("path", sorted(TOOLS.iterdir()), ids=lambda path: path.name)
def test_the_first_bytes_tell_a_result_file(path):
    assert is_tool_result(path.read_bytes()[: 1 << 20])
    assert not is_tool_result(b'{"log": "Decode batch", "stream": "stdout"}')
