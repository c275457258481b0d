"""Captured lines first; the many dialects are in test_grammar.py."""

from datetime import datetime

import pytest

from ddbench.errors import LogFormatError
from ddbench.logs.decode_line import parse_decode_line
from ddbench.records import DecodeWindow


def test_reads_the_decode_lines_of_a_captured_log(captured):
    lines = captured("sglang-0.5.23-dflash").read_text().splitlines()

    windows = [window for line in lines if (window := parse_decode_line(line)) is not None]

    assert len(windows) == sum("Decode batch" in line for line in lines) == 56
    assert windows[9] == DecodeWindow(
        logged_at=datetime(2026, 11, 30, 3, 18, 45),
        ranks="",
        running_requests=1,
        queued_requests=0,
        kv_tokens=36,
        accept_len_logged=1.0,
        accept_rate_logged=0.0,
        graph=False,
        throughput_tokens_per_s=44.21,
    )


def test_a_captured_autoregressive_line_has_no_acceptance(captured):
    lines = captured("sglang-0.5.23-autoregressive").read_text().splitlines()

    windows = [window for line in lines if (window := parse_decode_line(line)) is not None]

    assert windows
    assert {window.accept_len_logged for window in windows} == {None}
    assert {window.accept_rate_logged for window in windows} == {None}
    assert all(window.throughput_tokens_per_s for window in windows)


def test_no_other_line_of_the_captured_logs_is_a_decode_line(captured):
    for name in ("sglang-0.5.11-dflash", "sglang-0.5.23-ddtree-prototype"):
        for line in captured(name).read_text().splitlines():
            assert (parse_decode_line(line) is not None) == ("] Decode batch, #" in line)


def test_reads_the_averages_of_a_tree_from_the_decode_line():
    window = parse_decode_line(
        "[2026-11-30 05:31:43] Decode batch, #running-req: 4, #token: 7424, token usage: 0.02, "
        "accept len: 3.41, accept rate: 0.34, accepted depth: 2.41, commit len: 3.40, "
        "tree nodes: 31.00, cpu graph: False, gen throughput (token/s): 812.55, #queue-req: 0"
    )

    assert window is not None
    assert (window.accepted_depth, window.commit_len, window.tree_nodes) == (2.41, 3.4, 31.0)
    assert (window.accept_len_logged, window.queued_requests) == (3.41, 0)


@pytest.mark.parametrize(
    "averages",
    [
        "avg_accepted_depth=7.00 avg_commit_len=2.00",
        "avg_accepted_depth=7.00, avg_commit_len=2.00",
        "avg_accepted_depth: 7.00, avg_commit_len: 2.00",
        "avg_accepted_depth: 7.00 avg_commit_len: 2.00",
        "avg_commit_len=2.00 steps=40 avg_accepted_depth=7.00",
        "avg accepted depth: 7.00, avg commit len: 2.00",
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "[2026-07-23 05:31:43 TP0] DDTREE window: {} budget=31",
        "[2026-07-23 05:31:43 TP0] Decode batch, #running-req: 1, {}, cuda graph: True",
        "[2026-07-23 05:31:43 TP0] Decode batch, #running-req: 1, tree: {}, cuda graph: True",
    ],
)
def test_reads_a_private_patch_in_either_spelling(averages, around):
    window = parse_decode_line(around.format(averages))

    assert window is not None
    assert (window.accepted_depth, window.commit_len) == (7.0, 2.0)
    assert (window.logged_at, window.ranks) == (datetime(2026, 7, 23, 5, 31, 43), "TP0")


@pytest.mark.parametrize(
    "line",
    [
        "the commit len: is explained below",
        "[2026-07-23 05:31:43] max commit len: 8.00",
        "[2026-07-23 05:31:43] set commit_len=auto",
        "[2026-07-23 05:31:43] DDTREE stats {'steps': 20} last path=[[0, 1]] commit=[2]",
    ],
)
def test_words_about_a_tree_are_no_window(line):
    assert parse_decode_line(line) is None


def test_a_missing_field_is_unknown_not_zero():
    window = parse_decode_line("[2026-07-23 05:31:43 TP0] Decode batch, #running-req: 4, #token: 7")

    assert window is not None
    assert window.throughput_tokens_per_s is None
    assert window.queued_requests is None
    assert window.graph is None


def test_a_length_of_zero_says_that_no_draft_was_checked():
    window = parse_decode_line(
        "[2026-07-23 05:31:43] Decode batch, #running-req: 1, accept len: 0.00, accept rate: 0.00"
    )

    assert window is not None
    assert (window.accept_len_logged, window.accept_rate_logged) == (None, None)


@pytest.mark.parametrize(
    "field",
    [
        "accept len: 118~225",
        "accept len: fast",
        "accept rate: 57%",
        "#running-req: 4.5",
        "#running-req: -1",
        "#queue-req: 99999999999999999999",
        "cuda graph: maybe",
        "gen throughput (token/s): 1e3",
        "accept len: 3.4.1",
        "accepted depth: two, commit len: 2.00",
    ],
)
def test_an_unreadable_field_is_an_error_that_quotes_the_line(field):
    line = f"[2026-07-23 05:31:43 TP0] Decode batch, #token: 7, {field}"

    with pytest.raises(LogFormatError) as caught:
        parse_decode_line(line)

    assert line in str(caught.value)
    assert caught.value.remedy.endswith(".")


def test_two_different_values_of_one_field_are_an_error():
    line = "Decode batch, #running-req: 4, accept len: 2.00, accept len: 3.00"

    with pytest.raises(LogFormatError, match="two values"):
        parse_decode_line(line)


def test_a_prompt_that_quotes_a_log_is_no_log():
    line = (
        "[2026-07-23 05:31:43] Receive: obj=GenerateReqInput(text='[2026-01-01 00:00:00] "
        "Decode batch, #running-req: 4, accept len: 9.00')"
    )

    assert parse_decode_line(line) is None


def test_the_second_of_two_records_on_one_line_does_not_leak_into_the_first():
    window = parse_decode_line(
        "[2026-07-23 05:31:43 DP0] Decode batch, #running-req: 4, #token: 7"
        "[2026-07-23 05:31:44 DP1] Decode batch, #running-req: 5, #token: 8, #queue-req: 3"
    )

    assert window is not None
    assert (window.ranks, window.running_requests, window.queued_requests) == ("DP0", 4, None)
