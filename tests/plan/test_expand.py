from dataclasses import replace

import pytest

from ddbench.errors import PlanError
from ddbench.plan.expand import by_launch, expand, of_arms

TEXT = """
    name: order
    arms: [autoregressive, linear: {block_size: 8}]
    load: {count: 20, concurrency: [1, 4]}
    repeats: 2
    visits: 2
"""


def test_servers_are_outermost_then_repeats_then_concurrencies(sweep):
    trials = expand(replace(sweep(TEXT), visits=1))

    assert [(t.arm, t.repeat, t.load.concurrency) for t in trials] == [
        ("autoregressive", 0, 1),
        ("autoregressive", 0, 4),
        ("autoregressive", 1, 1),
        ("autoregressive", 1, 4),
        ("linear-8", 0, 1),
        ("linear-8", 0, 4),
        ("linear-8", 1, 1),
        ("linear-8", 1, 4),
    ]


def test_the_second_visit_goes_backwards_and_is_a_launch_of_its_own(sweep):
    trials = expand(sweep(TEXT))

    launches = [(group[0].visit, group[0].arm) for _, group in by_launch(trials)]
    assert launches == [
        (0, "autoregressive"),
        (0, "linear-8"),
        (1, "linear-8"),
        (1, "autoregressive"),
    ]


def test_neighbours_with_equal_servers_share_a_launch(sweep):
    trials = expand(
        sweep("""
            name: a-a
            arms: [first: {algorithm: null}, second: {algorithm: null}, linear: {block_size: 8}]
        """)
    )

    groups = [{trial.arm for trial in group} for _, group in by_launch(trials)]
    assert groups == [{"first", "second"}, {"linear-8"}]


def test_no_trial_is_lost_or_doubled_by_grouping(sweep):
    trials = expand(sweep(TEXT))

    assert [trial for _, group in by_launch(trials) for trial in group] == trials


MANY = """
    name: order
    arms: [autoregressive, linear: {block_size: 8}, tree: {block_size: 8, budget: [7, 15], topk: 4}]
    load: {count: 20, concurrency: [1, 4, 8]}
    repeats: 2
    visits: 2
"""


def test_a_seed_changes_the_order_and_not_the_trials(sweep):
    plan = sweep(MANY)

    seven, eight = expand(plan, seed=7), expand(plan, seed=8)

    assert seven == expand(plan, seed=7)
    assert seven != eight
    assert set(seven) == set(eight) == set(expand(plan))
    assert len(seven) == len(expand(plan))


def test_a_shuffled_second_visit_still_goes_backwards_with_one_launch_a_server(sweep):
    trials = expand(sweep(MANY), seed=7)

    arms = [group[0].arm for _, group in by_launch(trials)]

    assert len(arms) == 8
    assert arms[4:] == arms[3::-1]


def test_a_seed_keeps_repeats_outside_of_concurrencies(sweep):
    for _, group in by_launch(expand(sweep(MANY), seed=7)):
        assert [trial.repeat for trial in group] == [0, 0, 0, 1, 1, 1]


def test_arms_are_chosen_by_name_in_the_order_of_the_trials(sweep):
    trials = expand(sweep(TEXT))

    assert of_arms(trials, ["linear-8"]) == [t for t in trials if t.arm == "linear-8"]
    assert of_arms(trials, ["linear-8", "autoregressive"]) == trials


def test_an_arm_that_there_is_not_is_refused_with_those_that_there_are(sweep):
    with pytest.raises(PlanError, match="no arm 'linear'") as caught:
        of_arms(expand(sweep(TEXT)), ["linear"])

    assert caught.value.remedy == "Choose among autoregressive, linear-8."
