"""Rules on results of other tools, one at a time; what the readers make of files is tests/runs."""

from dataclasses import replace
from math import inf

import pytest

from ddbench.checks.from_tool import tool_evidence
from ddbench.checks.run import check
from ddbench.records import ToolResult


@pytest.fixture
def tool():
    """tool(...): 200 requests of 20 tokens in 10 s at concurrency 4, as bench_serving writes."""

    def make(**changes):
        healthy = ToolResult(
            tool="SGLang bench_serving",
            seen=True,
            asked_concurrency=4,
            achieved_concurrency=3.9,
            request_rate_per_s=inf,
            completed=200,
            duration_s=10.0,
            input_tokens=3200,
            output_tokens=4000,
            requests_per_s=20.0,
            input_tokens_per_s=320.0,
            output_tokens_per_s=400.0,
            tokens_per_s=720.0,
            percentiles={
                "ttft_ms": {"mean": 20.0, "median": 18.0, "p90": 60.0},
                "e2e_latency_ms": {"mean": 195.0, "median": 190.0, "p90": 300.0},
                "itl_ms": {"mean": 9.2},
                "tpot_ms": {"mean": 9.2},
            },
            accept_length=3.0,
            settings={
                "speculative_algorithm": "DFLASH",
                "speculative_num_draft_tokens": "8",
                "max_running_requests": "4",
            },
        )
        return tool_evidence(replace(healthy, **changes), source="result.jsonl")

    return make


def test_a_sound_result_has_no_finding(tool):
    report = check([tool()])

    assert report.findings == ()


def test_a_lifetime_mean_is_called_one(tool, fired, silent):
    fired("DDB131", tool(accept_length_is_lifetime=True), "3.00", "Flush")
    silent("DDB131", tool())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"accept_length": 9.3}, "above 8"),
        ({"accept_length": 0.4}, "below 1"),
        ({"accept_rate": 43.0}, "above 1"),
        ({"draft_steps": 100, "accepted_tokens": 300}, "counts give 4.000"),
        ({"accept_rate": 0.5, "drafted_tokens": 700, "accepted_tokens": 200}, "give 0.286"),
        ({"position_rates": (0.9, 0.5, 0.6)}, "rise"),
        ({"position_rates": (0.9, 0.5, 0.1)}, "sum to 1.500"),
    ],
)
def test_acceptance_that_cannot_be_is_an_error(tool, fired, changes, words):
    fired("DDB132", tool(**changes), words)


def test_acceptance_that_agrees_with_its_counts_is_silent(tool, silent):
    counted = {"draft_steps": 100, "drafted_tokens": 700, "accepted_tokens": 200}

    silent("DDB132", tool(accept_rate=2 / 7, position_rates=(0.9, 0.6, 0.5), **counted))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"output_tokens_per_s": 480.0}, "480.00 output tokens/s, though 4000"),
        ({"requests_per_s": 19.0}, "19.00 requests/s"),
        ({"percentiles": {"ttft_ms": {"median": 70.0, "p99": 60.0}}}, "median of ttft_ms is 70.00"),
        (
            {"percentiles": {"ttft_ms": {"median": 9.0}, "e2e_latency_ms": {"median": 8.0}}},
            "median TTFT 9.00 ms",
        ),
    ],
)
def test_totals_that_do_not_give_the_rates_are_an_error(tool, fired, changes, words):
    fired("DDB210", tool(**changes), words)


def test_totals_that_give_the_rates_are_silent(tool, silent):
    silent("DDB210", tool())


def test_gaps_between_chunks_are_told_from_tokens(tool, fired, silent):
    gaps = {"itl_ms": {"mean": 30.0}, "tpot_ms": {"mean": 10.0}}

    fired("DDB211", tool(percentiles=gaps, itl_counts_chunks=True), "about 3.0 tokens")
    silent("DDB211", tool(percentiles=gaps))


def test_a_rate_without_limit_is_pointed_out(tool, fired, silent):
    fired("DDB212", tool(asked_concurrency=None), "200 requests were sent at once")
    silent("DDB212", tool())


def test_two_counts_of_the_same_tokens_are_compared(tool, fired, silent):
    fired("DDB213", tool(recounted_output_tokens=4200), "count 4000", "is 4200")
    silent("DDB213", tool(recounted_output_tokens=4000))


def test_a_format_that_was_never_seen_says_so(tool, fired, silent):
    fired("DDB310", tool(seen=False, tool="vLLM bench serve"), "never seen")
    silent("DDB310", tool())


def test_other_rules_look_at_the_figures_of_a_tool(tool, fired):
    fired("DDB117", tool(accept_length=None), "no accept length")
    fired("DDB130", tool(accepted_tokens=800, drafted_tokens=700), "800 tokens accepted")
    fired("DDB204", tool(achieved_concurrency=2.0), "2.0 requests in flight")
    fired("DDB207", tool(percentiles={"ttft_ms": {"p99": 60.0}}), "200 requests", "2 slowest")
    fired("DDB209", tool(failed=3), "3 of 203")


def test_runs_at_other_concurrencies_are_not_compared_across_files(tool):
    one, many = tool(), tool(asked_concurrency=64, achieved_concurrency=60.0)

    across = check([one, replace(many, source="other.jsonl", subject="other.jsonl")])

    assert [f.code for f in across.findings] == ["DDB401"]
    assert "concurrency 4 against 64" in across.findings[0].message
    assert check([one, replace(many, subject="result.jsonl (run 2)")]).findings == ()
