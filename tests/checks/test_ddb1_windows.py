"""DDB101-DDB119: what the log's windows say of acceptance, against each other and the rest."""

from dataclasses import replace

import pytest

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Severity
from ddbench.records import Speculation


def depth_log(window, *pairs, **changes):
    """A log with (avg_accepted_depth, avg_commit_len) lines, five seconds apart."""
    windows = tuple(
        window(5.0 * i, accepted_depth=depth, commit_len=commit, **changes)
        for i, (depth, commit) in enumerate(pairs)
    )
    return Evidence("server.log", windows=windows)


def test_depth_seven_and_commit_two_is_an_error_with_causes_and_a_next_test(window, fired):
    log = depth_log(window, (7.0, 2.0), accept_len_logged=None)

    finding = fired("DDB101", log, "7.00", "2.00", "no finished count", "contiguous", "topk 1")

    assert finding.severity is Severity.ERROR


def test_depth_and_commit_that_differ_by_the_bonus_are_right(window, silent):
    silent("DDB101", depth_log(window, (2.71, 3.71), (3.5, 4.5), (2.0, 2.99)))


@pytest.mark.parametrize(
    ("commit", "accept_len", "words"),
    [
        (3.0, 3.0, "counts the root (avg_commit_len equals"),
        (3.0, 4.0, "leaves out the bonus token (accept len"),
        (3.0, None, "counts the root, or avg_commit_len"),
    ],
)
def test_accept_len_tells_why_depth_equals_commit(window, fired, commit, accept_len, words):
    log = depth_log(window, (3.0, commit), (3.0, commit), accept_len_logged=accept_len)

    fired("DDB101", log, words)


def test_depth_one_above_commit_is_both_faults(window, fired):
    log = depth_log(window, (4.0, 3.0), (5.0, 4.0))

    fired("DDB101", log, "counts the root, and")


def test_a_depth_beyond_the_limit_is_a_walk_over_padding(window, fired, linear):
    log = replace(depth_log(window, (9.5, 3.0)), speculation=linear)

    fired("DDB101", log, "cannot be drafted")


def test_an_excess_only_with_several_running_is_a_mixed_up_batch(window, fired):
    good = window(0.0, accepted_depth=2.0, commit_len=3.0, running_requests=1)
    bad = window(5.0, accepted_depth=6.0, commit_len=2.0, running_requests=8)

    fired("DDB101", Evidence("log", windows=(good, bad)), "several requests running")


def test_an_excess_only_in_the_first_windows_is_warm_up(window, fired):
    log = depth_log(window, (6.0, 2.0), (2.0, 3.0), (2.5, 3.5))

    fired("DDB101", log, "first windows")


def test_more_committed_than_accepted_is_a_miscount(window, fired):
    fired("DDB101", depth_log(window, (2.0, 3.2)), "more is committed")


def cut_log(window, prefill, linear, excess):
    """Two requests of four end between two lines of 40 steps: F*D/S = 2*7/160 = 0.0875."""
    windows = tuple(
        window(5.0 * i, accepted_depth=2.0, commit_len=3.0 - (excess if i == 2 else 0.0))
        for i in range(4)
    )
    return Evidence(
        "server.log",
        speculation=linear,
        windows=windows,
        prefill=(prefill(7.0, new_requests=2),),
        settings={"decode_log_interval": "40"},
    )


def test_an_excess_that_ended_requests_explain_is_allowed(window, prefill, linear, silent):
    silent("DDB101", cut_log(window, prefill, linear, 0.08))


def test_an_excess_beyond_what_ended_requests_explain_fires(window, prefill, linear, fired):
    fired("DDB101", cut_log(window, prefill, linear, 0.12), "at most 0.09")


def test_a_small_excess_without_counts_is_skipped(window, skipped):
    skipped("DDB101", depth_log(window, (3.0, 3.8), (3.0, 4.0)), "finished counts")


def test_accept_len_beyond_depth_plus_one_fires(window, linear, fired):
    log = Evidence("log", speculation=linear, windows=(window(accept_len_logged=8.01),))

    fired("DDB104", log, "above 8", "8.01")


def test_accept_len_below_one_fires(window, fired):
    log = Evidence("log", windows=(window(accept_len_logged=0.97), window()))

    fired("DDB104", log, "below 1", "1 of 2")


def test_accept_len_within_its_range_is_right(window, linear, silent):
    lines = tuple(window(accept_len_logged=value) for value in (0.0, 1.0, 8.0, None))

    silent("DDB104", Evidence("log", speculation=linear, windows=lines))


def test_uno_may_commit_more_than_it_drafts(window, silent):
    uno = Speculation(algorithm="UNO", block_size=8)

    silent("DDB104", Evidence("log", speculation=uno, windows=(window(accept_len_logged=9.0),)))
