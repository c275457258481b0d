"""Counters out of what real servers answered, and out of what they must not answer."""

import json
from pathlib import Path

import pytest

from ddbench.errors import ServerError
from ddbench.records import Counters
from ddbench.server.counters import flush_cache, read_counters, read_server_info

DFLASH = Path(__file__).parent.parent / "fixtures" / "sglang-0.5.23-cpu" / "dflash"


def answers(*, metrics=(200, ""), info=None):
    return {
        ("GET", "/metrics"): [metrics],
        ("GET", "/server_info"): [(200, json.dumps(info or {}))],
    }


def test_reads_what_sglang_answered_and_sums_over_labels(http_server):
    """prompt_tokens stands there twice, 66 not streaming and 22 streaming; 336 and 48 generated."""
    metrics = (DFLASH / "metrics.txt").read_text()
    info = json.loads((DFLASH / "server_info.json").read_text())
    url = http_server(answers(metrics=(200, metrics), info=info))

    counters = read_counters(url)

    assert counters.spec_verify_calls == 296.0
    assert counters.generation_tokens == 336.0 + 48.0
    assert counters.prompt_tokens == 66.0 + 22.0
    assert counters.retracted_requests is None
    assert counters.avg_spec_accept_length == info["internal_states"][0]["avg_spec_accept_length"]


def test_a_gauge_of_nearly_the_same_name_is_not_the_counter(http_server):
    metrics = (
        "# TYPE sglang:num_retracted_reqs gauge\n"
        'sglang:num_retracted_reqs{tp_rank="0"} 5.0\n'
        "# TYPE sglang:num_retracted_requests_total counter\n"
        'sglang:num_retracted_requests_total{dp_rank="0"} 2.0\n'
        'sglang:num_retracted_requests_total{dp_rank="1"} 1.0\n'
    )

    counters = read_counters(http_server(answers(metrics=(200, metrics))))

    assert counters == Counters(retracted_requests=3.0)


def test_a_server_without_metrics_has_no_counters_and_no_zeros(http_server):
    assert read_counters(http_server(answers(metrics=(404, "")))) == Counters()


def test_averages_of_several_ranks_cannot_be_joined(http_server):
    states = [{"avg_spec_accept_length": 2.0}, {"avg_spec_accept_length": 4.0}]

    counters = read_counters(http_server(answers(info={"internal_states": states})))

    assert counters.avg_spec_accept_length is None


@pytest.mark.parametrize(
    "routes",
    [
        {("GET", "/metrics"): [(200, "{not: prometheus}")], ("GET", "/server_info"): [(200, "{}")]},
        {("GET", "/metrics"): [(200, "")], ("GET", "/server_info"): [(200, "hello")]},
        {("GET", "/metrics"): [(200, "")], ("GET", "/server_info"): [(500, "{}")]},
    ],
)
def test_an_answer_of_another_program_is_one_sentence(http_server, routes):
    with pytest.raises(ServerError, match="127") as caught:
        read_counters(http_server(routes))

    assert "SGLang server" in caught.value.remedy


def test_no_answer_is_one_sentence(port):
    with pytest.raises(ServerError, match="no answer"):
        read_server_info(f"http://127.0.0.1:{port}")


def test_a_proxy_of_the_environment_is_passed_by(http_server, monkeypatch, port):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")

    assert read_counters(http_server(answers())) == Counters()


def test_a_busy_server_is_asked_to_flush_again(http_server):
    busy = (400, "Flush cache failed.\n")

    flush_cache(http_server({("POST", "/flush_cache"): [busy, busy, (200, "Cache flushed.\n")]}))


def test_a_server_that_will_not_flush_is_quoted(http_server):
    url = http_server({("POST", "/flush_cache"): [(400, "3 requests are running")]})

    with pytest.raises(ServerError, match="400 3 requests are running"):
        flush_cache(url, timeout_s=0.5)
