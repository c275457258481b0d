from dataclasses import replace

import pytest

from ddbench.records import Failure
from ddbench.runs.estimate import estimate


def test_what_was_measured_is_expected_again(make_result, launch):
    first, second = make_result(), replace(make_result("k2", repeat=1), wall_s=0.8)

    known = estimate([(launch.server, [first.trial] * 3)], [launch], [first, second])

    assert known.known_s == pytest.approx(1.5 + 3 * 0.6)
    assert (known.unknown_launches, known.borrowed, known.unknown_trials) == (0, 0, 0)


def test_another_arm_at_the_same_load_is_taken_for_as_slow_as_the_slowest(make_result, launch):
    other = replace(launch.server, max_running_requests=9)
    slow = replace(make_result("k2").trial, server=replace(other, model="slow"))
    results = [make_result(), replace(make_result("k2"), trial=slow, wall_s=2.0)]
    ahead = [(other, [replace(results[0].trial, server=other)])]

    known = estimate(ahead, [launch], results)

    assert known.known_s == pytest.approx(2.0)
    assert (known.unknown_launches, known.borrowed, known.unknown_trials) == (1, 1, 0)


def test_what_nobody_measured_is_not_guessed(make_result, launch):
    failed = make_result(failure=Failure("unknown", "", ""))
    never_ready = replace(launch, startup_s=None)

    known = estimate([(launch.server, [failed.trial])], [never_ready], [failed])

    assert known.known_s == 0.0
    assert (known.unknown_launches, known.borrowed, known.unknown_trials) == (1, 0, 1)
