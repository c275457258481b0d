import pytest

from ddbench.records import Failure
from ddbench.runs.precision import is_precise, measured


def test_two_repeats_are_never_enough_however_alike():
    assert not is_precise([100.0, 100.0], 0.03)
    assert is_precise([100.0, 100.0, 100.0], 0.03)


def test_precise_is_half_the_interval_over_the_mean():
    values = [99.0, 100.0, 101.0]  # t(2, 97.5 %) = 4.3027, times 1 / sqrt(3): 2.484

    assert not is_precise(values, 0.0248)
    assert is_precise(values, 0.0249)


def test_the_metrics_are_those_of_the_completed_requests(make_result):
    result = make_result()

    assert measured(result, "tokens_per_s") == pytest.approx(5 / 0.4)
    assert measured(result, "tpot_s") == pytest.approx((0.3 - 0.02) / 4)
    assert measured(result, "ttft_s") == pytest.approx(0.02)
    assert measured(result, "e2e_s") == pytest.approx(0.3)


def test_a_failed_trial_measures_nothing(make_result):
    assert measured(make_result(failure=Failure("unknown", "", "")), "ttft_s") is None
