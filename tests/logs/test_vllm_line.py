"""vLLM's three forms, typed from its format strings: none of these lines was captured."""

import pytest

from ddbench.errors import LogFormatError
from ddbench.logs.vllm_line import (
    VllmLoadWindow,
    VllmSpecWindow,
    parse_vllm_load_line,
    parse_vllm_spec_line,
)


def test_reads_the_cumulative_line_of_v0():
    window = parse_vllm_spec_line(
        "INFO 03-04 12:00:00 [metrics.py:477] Speculative metrics: Draft acceptance rate: 0.343, "
        "System efficiency: 0.250, Number of speculative tokens: 4, Number of accepted tokens: "
        "1372, Number of draft tokens: 4000, Number of emitted tokens: 1250."
    )

    assert window == VllmSpecWindow(
        source="",
        cumulative=True,
        mean_acceptance_length=None,
        accepted_tokens=1372,
        drafted_tokens=4000,
        emitted_tokens=1250,
        speculative_tokens=4,
        acceptance_fraction=0.343,
        acceptance_percent=None,
        per_position_rates=(),
    )


def test_reads_the_first_line_of_v1():
    window = parse_vllm_spec_line(
        "SpecDecoding metrics: Draft acceptance rate: 45.2%, Accepted: 113 tokens, "
        "Drafted: 250 tokens"
    )

    assert window is not None
    assert (window.accepted_tokens, window.drafted_tokens) == (113, 250)
    assert (window.acceptance_percent, window.acceptance_fraction) == (45.2, None)
    assert not window.cumulative


@pytest.mark.parametrize("with_positions", [True, False])
@pytest.mark.parametrize("with_rate", [True, False])
def test_reads_the_present_line_of_v1(with_positions, with_rate):
    line = (
        "(EngineCore_0 pid=99) INFO 03-04 12:00:00 [metrics.py:100] SpecDecoding metrics: "
        "Mean acceptance length: 2.13, Accepted throughput: 11.30 tokens/s, Drafted throughput: "
        "30.00 tokens/s, Accepted: 113 tokens, Drafted: 300 tokens"
    )
    line += ", Per-position acceptance rate: 0.700, 0.300, 0.130" if with_positions else ""
    line += ", Avg Draft acceptance rate: 37.7%" if with_rate else ""

    window = parse_vllm_spec_line(line)

    assert window is not None
    assert window.source == "EngineCore_0 pid=99"
    assert window.mean_acceptance_length == 2.13
    assert (window.accepted_tokens, window.drafted_tokens) == (113, 300)
    assert window.per_position_rates == ((0.7, 0.3, 0.13) if with_positions else ())
    assert window.acceptance_percent == (37.7 if with_rate else None)
    assert window.acceptance_fraction is None


def test_an_interval_without_drafts_has_no_rate():
    window = parse_vllm_spec_line(
        "SpecDecoding metrics: Mean acceptance length: nan, Accepted: 0 tokens, Drafted: 0 tokens, "
        "Avg Draft acceptance rate: nan%"
    )

    assert window is not None
    assert window.mean_acceptance_length is None
    assert window.acceptance_percent is None
    assert window.acceptance_fraction is None
    assert window.accepted_tokens == 0


def test_reads_how_many_requests_ran():
    window = parse_vllm_load_line(
        "INFO 03-04 12:00:00 [loggers.py:127] Engine 002: Avg prompt throughput: 1.1 tokens/s, "
        "Avg generation throughput: 120.5 tokens/s, Running: 3 reqs, Waiting: 1 reqs, "
        "GPU KV cache usage: 2.0%, Prefix cache hit rate: 0.0%"
    )

    assert window == VllmLoadWindow(
        source="",
        engine="002",
        running_requests=3,
        waiting_requests=1,
        throughput_tokens_per_s=120.5,
    )


@pytest.mark.parametrize(
    "line",
    [
        "SpecDecoding metrics: Accepted: many tokens",
        "SpecDecoding metrics: Accepted: 1 tokens, Draft acceptance rate: high",
        "SpecDecoding metrics: Accepted: 1 tokens, Per-position acceptance rate: 0.7.1, 0.3",
    ],
)
def test_an_unreadable_field_is_an_error_that_quotes_the_line(line):
    with pytest.raises(LogFormatError) as caught:
        parse_vllm_spec_line(line)

    assert line in str(caught.value)


@pytest.mark.parametrize(
    "line", ["", "SpecDecoding metrics: none", "[2026-07-23 05:31:43] Decode batch, #token: 4"]
)
def test_other_lines_are_none_of_vllms(line):
    assert parse_vllm_spec_line(line) is None
    assert parse_vllm_load_line(line) is None
