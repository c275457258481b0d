from dataclasses import replace

from ddbench.plan.expand import by_launch, expand

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
