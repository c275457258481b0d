"""The rows, against numbers worked out by hand."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from ddbench.compare.measures import achieved_concurrency
from ddbench.records import Failure, RequestCompleted, RequestFailed, RunResult
from ddbench.report.in_flight import occupancy
from ddbench.report.summary import summarise

Make = Callable[..., RunResult]
FAILED = Failure("server_died", "last line", "Read the log.")


def with_requests(result: RunResult, *requests: RequestCompleted | RequestFailed) -> RunResult:
    return replace(result, requests=requests)


def test_one_row_an_arm_and_concurrency_lowest_concurrency_first(sweep: list[RunResult]) -> None:
    rows = summarise(sweep)

    arms = ["autoregressive", "linear-8", "tree-8-31-4"]
    assert [(row.concurrency, row.arm) for row in rows] == [
        *((1, arm) for arm in arms),
        *((8, arm) for arm in arms),
    ]
    assert {(row.trials, row.completed, row.failed_requests) for row in rows} == {(2, 96, 0)}


def test_tokens_per_step_leaves_out_the_token_of_the_prefill(make_result: Make) -> None:
    result = make_result("linear-8")
    steps = sum(request.verify_ct or 0 for request in result.completed)

    (row,) = summarise([result])

    assert row.tokens_per_step is not None
    assert row.tokens_per_step.value == pytest.approx(48 * 60 / steps)
    assert row.tokens_per_step.n == 48


def test_a_retraction_costs_a_prefill_token(make_result: Make) -> None:
    result = make_result("linear-8", prompts=1)
    (request,) = result.completed
    retracted = with_requests(result, replace(request, retractions=2))

    (row,) = summarise([retracted])

    assert row.tokens_per_step is not None
    assert row.tokens_per_step.value == pytest.approx((61 - 1 - 2) / (request.verify_ct or 0))


def test_autoregressive_has_no_measured_tokens_per_step(make_result: Make) -> None:
    (row,) = summarise([make_result("autoregressive")])

    assert row.tokens_per_step is None


def test_an_answer_of_one_token_counts_for_throughput_only(make_result: Make) -> None:
    result = make_result("linear-8", prompts=2)
    one = replace(result.completed[0], completion_tokens=1, verify_ct=None)

    (row,) = summarise([with_requests(result, one, result.completed[1])])

    assert row.tokens_per_step is not None
    assert row.tpot_s is not None
    assert row.tokens_per_s is not None
    assert row.tokens_per_step.n == row.tpot_s.n == 1
    assert row.tokens_per_s.value == pytest.approx(62 / (result.wall_s or 0.0))


def test_tok_per_s_is_a_mean_over_trials(make_result: Make) -> None:
    trials = [make_result(repeat=repeat) for repeat in range(3)]

    (row,) = summarise(trials)

    rates = [48 * 61 / (trial.wall_s or 0.0) for trial in trials]
    assert row.tokens_per_s is not None
    assert row.tokens_per_s.n == 3
    assert row.tokens_per_s.value == pytest.approx(math.prod(rates) ** (1 / 3))


def test_repeats_of_a_prompt_are_one_unit(make_result: Make) -> None:
    (row,) = summarise([make_result(repeat=repeat) for repeat in range(3)])

    assert row.tokens_per_step is not None
    assert row.tpot_s is not None
    assert row.ttft_median_s is not None
    assert row.tokens_per_step.n == row.tpot_s.n == row.ttft_median_s.n == 48


def test_tpot_is_the_mean_time_a_token_after_the_first(make_result: Make) -> None:
    result = make_result("linear-8")

    (row,) = summarise([result])

    times_s = [(r.e2e_s - r.ttft_s) / 60 for r in result.completed]
    assert row.tpot_s is not None
    assert row.tpot_s.value == pytest.approx(sum(times_s) / 48)


def test_a_failed_trial_is_counted_and_gives_no_number(make_result: Make) -> None:
    (row,) = summarise([make_result(failure=FAILED)])

    assert (row.trials, row.failed_trials, row.completed) == (0, 1, 0)
    assert row.tokens_per_step is row.tokens_per_s is row.tpot_s is row.ttft_median_s is None


def test_a_failed_trial_that_was_measured_again_is_no_failure(make_result: Make) -> None:
    (row,) = summarise([make_result(failure=FAILED), make_result()])

    assert (row.trials, row.failed_trials) == (1, 0)


def test_a_failed_request_is_counted(make_result: Make) -> None:
    result = make_result(prompts=2)

    (row,) = summarise(
        [with_requests(result, result.completed[0], RequestFailed("x", 0.1, 0.0, "reset"))]
    )

    assert (row.completed, row.failed_requests) == (1, 1)


def test_trials_that_record_drafts_are_never_timed(make_result: Make) -> None:
    result = make_result()
    load = replace(result.trial.load, record_drafts=True)

    (row,) = summarise([replace(result, trial=replace(result.trial, load=load))])

    assert row.tokens_per_step is not None
    assert row.tokens_per_s is row.tpot_s is row.ttft_median_s is row.achieved_concurrency is None


def test_achieved_concurrency_ends_with_the_last_send(make_result: Make) -> None:
    """Two always in flight until the last send at 2 s; then one runs alone until 9 s."""
    result = make_result(prompts=1)
    (request,) = result.completed
    sent_and_e2e_s = [(0.0, 1.0), (0.0, 2.0), (1.0, 1.5), (2.0, 7.0)]
    requests = [replace(request, sent_s=sent, e2e_s=e2e) for sent, e2e in sent_and_e2e_s]

    trial = replace(with_requests(result, *requests), wall_s=9.0)

    assert achieved_concurrency(trial) == pytest.approx((1 + 2 + 1) / 2.0)
    assert occupancy(trial) == pytest.approx(11.5 / 9.0)


def test_nobody_knows_how_long_a_failed_request_was_in_flight(make_result: Make) -> None:
    result = make_result(prompts=3)
    trial = with_requests(result, *result.completed, RequestFailed("x", 0.1, 0.0, "reset"))

    assert achieved_concurrency(trial) is None
    assert occupancy(trial) is None


def test_requests_that_were_all_sent_at_once_have_no_achieved_concurrency(
    make_result: Make,
) -> None:
    assert achieved_concurrency(make_result(prompts=1)) is None
    assert achieved_concurrency(make_result(prompts=0)) is None


def test_the_speed_of_one_stream_leaves_out_first_tokens_and_their_time(make_result: Make) -> None:
    result = make_result("linear-8")
    one = replace(result.completed[0], completion_tokens=1, verify_ct=None)

    (row,) = summarise([with_requests(result, one, *result.completed[1:])])

    times_s = [r.e2e_s - r.ttft_s for r in result.completed[1:]]
    assert row.user_tokens_per_s is not None
    assert row.user_tokens_per_s.value == pytest.approx(47 * 60 / sum(times_s))
    assert row.user_tokens_per_s.n == 47


def test_two_rates_of_an_open_loop_are_two_rows(make_result: Make) -> None:
    rows = summarise(make_result(rate_per_s=rate, repeat=n) for n, rate in enumerate([8, 2.5, 8]))

    assert [(row.concurrency, row.rate_per_s, row.trials) for row in rows] == [
        (0, 2.5, 1),
        (0, 8.0, 2),
    ]
