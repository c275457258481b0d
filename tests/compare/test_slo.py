"""The fastest arm that keeps a service level, on a measured run and on made-up times."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ddbench.compare.arms import ComparedArm
from ddbench.compare.slo import Recommendation, recommend
from ddbench.errors import NotComparable
from ddbench.records import RequestCompleted, RequestFailed, RunResult
from ddbench.stats.service_level import read_limits

Arms = dict[str, ComparedArm]
Change = Callable[..., ComparedArm]


def at(found: list[Recommendation], concurrency: int) -> Recommendation:
    (one,) = [one for one in found if one.concurrency == concurrency]
    return one


def steady(arm: ComparedArm, change: Change, *, ttft_s: float, wall_s: float) -> ComparedArm:
    """Every request with one time to the first token, give or take 1 %; every trial as long."""

    def timed(request: Any) -> RequestCompleted:
        offset = sum(map(ord, request.prompt_id)) % 3 - 1
        changed: RequestCompleted = replace(request, ttft_s=ttft_s * (1.0 + 0.01 * offset))
        return changed

    trials = tuple(replace(trial, wall_s=wall_s) for trial in change(arm, timed).trials)
    return replace(arm, trials=trials)


@pytest.fixture
def two(quickstart: Arms, change_requests: Change) -> list[ComparedArm]:
    """A fast arm with a late first token, and a slow one with an early one."""
    return [
        steady(quickstart["linear-8"], change_requests, ttft_s=0.02, wall_s=10.0),
        steady(quickstart["tree-8-31-4"], change_requests, ttft_s=0.004, wall_s=20.0),
    ]


def test_the_fastest_arm_is_best_where_all_meet_the_level(two: list[ComparedArm]) -> None:
    one = at(recommend(two, read_limits("ttft_s<1")), 1)

    assert one.best is not None
    assert (one.best.arm, one.best.met, one.verdict) == ("linear-8", "met", "meets it")
    assert [setting.arm for setting in one.settings] == ["linear-8", "tree-8-31-4"]
    assert one.rivals == ()


def test_a_faster_arm_that_misses_the_level_is_passed_over(two: list[ComparedArm]) -> None:
    one = at(recommend(two, read_limits("ttft_s<0.01")), 4)

    assert one.best is not None
    assert one.best.arm == "tree-8-31-4"
    assert [setting.met for setting in one.settings] == ["missed", "met"]
    assert one.faster == ()


def test_a_faster_arm_that_meets_it_within_noise_only_stands_behind_a_sure_one(
    two: list[ComparedArm],
) -> None:
    fast, slow = two
    first, second = fast.at(1)
    late = replace(second, requests=tuple(replace(r, ttft_s=0.031) for r in second.completed))

    one = at(recommend([replace(fast, trials=(first, late)), slow], read_limits("ttft_s<0.03")), 1)

    assert [setting.met for setting in one.settings] == ["met within noise", "met"]
    assert one.best is not None
    assert (one.best.arm, one.faster) == ("tree-8-31-4", ("linear-8",))


def test_none_does_where_all_surely_miss_it(two: list[ComparedArm]) -> None:
    one = at(recommend(two, read_limits("ttft_s<0.001")), 8)

    assert (one.best, one.verdict) == (None, "none does")


def test_every_limit_must_be_met(two: list[ComparedArm]) -> None:
    one = at(recommend(two, read_limits("ttft_s<0.01,tpot_s<0.000001")), 1)

    assert one.best is None
    assert [held.met for held in one.settings[1].held] == ["met", "missed"]
    assert one.settings[1].met == "missed"


def test_a_limit_inside_the_interval_is_met_within_noise_only(
    quickstart: Arms, change_requests: Change
) -> None:
    """Means of 0.1 s with prompts between 0.05 and 0.15 s: 0.1005 lies inside every interval."""

    def spread(request: Any) -> RequestCompleted:
        changed: RequestCompleted = replace(
            request, ttft_s=0.05 + 0.1 * (sum(map(ord, request.prompt_id)) % 11) / 10.0
        )
        return changed

    arm = change_requests(quickstart["linear-8"], spread)
    (mean,) = {
        round(sum(r.ttft_s for r in trial.completed) / len(trial.completed), 9)
        for trial in arm.at(1)
    }

    above, below = (
        at(recommend([arm], read_limits(f"ttft_s<{mean + offset}")), 1)
        for offset in (0.0005, -0.0005)
    )

    assert above.best is not None
    assert above.verdict == "meets it, within noise"
    assert below.best is None
    assert below.verdict == "none does by its values; some miss it within noise"


def test_one_slow_trial_makes_a_level_met_within_noise(
    quickstart: Arms, change_requests: Change
) -> None:
    arm = steady(quickstart["linear-8"], change_requests, ttft_s=0.1, wall_s=10.0)
    first, second = arm.at(1)
    slow = replace(second, requests=tuple(replace(r, ttft_s=0.21) for r in second.completed))

    one = at(recommend([replace(arm, trials=(first, slow))], read_limits("ttft_s<0.2")), 1)

    (held,) = one.settings[0].held
    assert held.measured is not None
    assert held.measured.value < 0.2
    assert held.met == "met within noise"


def test_arms_that_the_trials_cannot_part_are_named(two: list[ComparedArm]) -> None:
    fast, slow = two
    noisy = replace(
        slow,
        trials=tuple(
            replace(trial, wall_s=9.0 if trial.trial.repeat else 13.0) for trial in slow.trials
        ),
    )

    one = at(recommend([fast, noisy], read_limits("ttft_s<1")), 1)

    assert one.best is not None
    assert (one.best.arm, one.rivals) == ("linear-8", ("tree-8-31-4",))


def test_an_arm_with_failed_requests_is_left_out_and_named(
    two: list[ComparedArm], change_trials: Change
) -> None:
    fast, slow = two

    def broken_off(trial: RunResult) -> RunResult:
        first, *others = trial.requests
        failed = RequestFailed(first.prompt_id, first.sent_s, first.lateness_s, "connection reset")
        return replace(trial, requests=(failed, *others))

    broken = change_trials(fast, broken_off)

    one = at(recommend([broken, slow], read_limits("ttft_s<1")), 1)

    assert one.best is not None
    assert one.best.arm == "tree-8-31-4"
    assert one.left_out == {
        "linear-8": ("repeat 0: 1 requests failed", "repeat 1: 1 requests failed")
    }


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"target.sha256": "another"}, "unlike linear-8 in target weights: "),
        ({"cpu.model": "another"}, "unlike linear-8 in CPU: "),
    ],
)
def test_an_arm_of_another_model_or_machine_is_no_rival(
    two: list[ComparedArm], facts: dict[str, str], why: str
) -> None:
    slow, fast = two[0], replace(two[1], run="other", facts={**two[1].facts, **facts})
    fast = replace(fast, trials=tuple(replace(trial, wall_s=1.0) for trial in fast.trials))

    one = at(recommend([slow, fast], read_limits("ttft_s<1")), 1)

    assert one.best is not None
    assert one.best.arm == "linear-8"
    ((name, said),) = one.left_out.items()
    assert name == "other: tree-8-31-4"
    assert said[0].startswith(why)


def test_an_arm_that_says_other_things_than_the_model_is_not_recommended(
    with_logprobs: Arms, change_requests: Change
) -> None:
    """Another token than plain decoding's, which is sure of its own."""

    def odd_token(request: Any) -> RequestCompleted:
        ids, probs = list(request.output_ids), list(request.output_logprobs)
        ids[3], probs[3] = ids[3] + 1, -0.1
        changed: RequestCompleted = replace(
            request, output_ids=tuple(ids), output_logprobs=tuple(probs)
        )
        return changed

    plain, tree = with_logprobs["autoregressive"], with_logprobs["tree-8-31-4"]
    lossy = change_requests(tree, odd_token)

    honest, spoilt = (
        at(recommend([plain, arm], read_limits("ttft_s<100")), 1) for arm in (tree, lossy)
    )

    assert {one.arm for one in honest.settings} == {"autoregressive", "tree-8-31-4"}
    assert [one.arm for one in spoilt.settings] == ["autoregressive"]
    assert spoilt.left_out == {"tree-8-31-4": ("its answers are not those of plain decoding",)}


def test_what_an_operator_may_choose_leaves_no_arm_out(two: list[ComparedArm]) -> None:
    """Another drafter, and CUDA graphs."""
    other = replace(
        two[1],
        facts={**two[1].facts, "drafter.sha256": "another"},
        settings={**two[1].settings, "disable_cuda_graph": "false"},
    )

    one = at(recommend([two[0], other], read_limits("ttft_s<1")), 1)

    assert len(one.settings) == 2


def test_a_percentile_needs_its_requests(quickstart: Arms) -> None:
    with pytest.raises(NotComparable, match="1,000 requests that p99 of ttft_s needs") as caught:
        recommend(list(quickstart.values()), read_limits("ttft_s.p99<1"))

    assert "ttft_s<1" in caught.value.remedy


def test_a_median_is_taken_over_requests(two: list[ComparedArm]) -> None:
    one = at(recommend(two, read_limits("ttft_s.p50<0.01")), 1)

    held = {setting.arm: setting.held[0] for setting in one.settings}
    assert held["linear-8"].met == "missed"
    assert held["tree-8-31-4"].measured is not None
    assert held["tree-8-31-4"].measured.value == pytest.approx(0.004, rel=0.011)
    assert one.best is not None
    assert one.best.arm == "tree-8-31-4"
