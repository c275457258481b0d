"""Drift between visits: a common factor is found, and launches that differ widen its interval."""

from dataclasses import replace

import pytest

from ddbench.compare.arms import ComparedArm
from ddbench.compare.drift import drift
from ddbench.compare.linear_vs_tree import compare_linear_with_trees
from ddbench.compare.pairing import throughput_ratio
from ddbench.records import RequestFailed, RunResult

Arms = dict[str, ComparedArm]


def in_visits(arm: ComparedArm, *factors: float) -> ComparedArm:
    """The same trials once a visit, each visit's wall times multiplied by its factor."""
    trials = [
        again(trial, visit, factor) for visit, factor in enumerate(factors) for trial in arm.trials
    ]
    return replace(arm, trials=tuple(trials))


def again(trial: RunResult, visit: int, factor: float) -> RunResult:
    assert trial.wall_s is not None
    return replace(trial, trial=replace(trial.trial, visit=visit), wall_s=trial.wall_s * factor)


def test_one_visit_measures_no_drift(quickstart: Arms) -> None:
    assert drift(list(quickstart.values())) is None


def test_a_drift_that_all_servers_share_is_found_exactly(quickstart: Arms) -> None:
    arms = [in_visits(arm, 1.0, 1.25) for arm in quickstart.values()]

    found = drift(arms)

    assert found is not None
    assert (found.visits, found.overall.n) == (2, len(arms))
    assert found.overall.value == pytest.approx(0.8)
    assert found.overall.high == pytest.approx(0.8)
    assert all(one.ratio.value == pytest.approx(0.8) for one in found.servers)
    assert len(found.servers) == 3 * len(arms)
    assert "changed by -20.0%" in found.sentence
    assert found.sentence.endswith("the machine drifted")


def test_launches_that_differ_are_no_drift(quickstart: Arms) -> None:
    factors = (1.02, 0.98, 1.01, 0.99, 1.03, 0.97)
    arms = [
        in_visits(arm, 1.0, factor)
        for arm, factor in zip(quickstart.values(), factors, strict=True)
    ]

    found = drift(arms)

    assert found is not None
    assert 1.0 in found.overall
    assert "no drift seen (with 6 servers you could not have seen less than" in found.sentence


def test_a_trial_whose_requests_failed_shows_no_drift(quickstart: Arms) -> None:
    """Half as many tokens in as much time are no slower machine."""
    arm = in_visits(quickstart["linear-8"], 1.0, 1.0)

    def broken_off(trial: RunResult) -> RunResult:
        half = len(trial.completed) // 2
        failed = [
            RequestFailed(r.prompt_id, r.sent_s, r.lateness_s, "connection reset")
            for r in trial.completed[half:]
        ]
        return replace(trial, requests=(*trial.completed[:half], *failed))

    at_4 = [
        broken_off(t) if t.trial.visit and t.trial.load.concurrency == 4 else t for t in arm.trials
    ]

    found = drift([replace(arm, trials=tuple(at_4))])

    assert found is not None
    assert [one.concurrency for one in found.servers] == [1, 8]
    assert found.overall.value == pytest.approx(1.0)


def test_a_single_server_has_a_value_and_no_interval(quickstart: Arms) -> None:
    found = drift([in_visits(quickstart["linear-8"], 1.0, 1.25)])

    assert found is not None
    assert (found.overall.low, found.overall.n) == (None, 1)
    assert "one server allows no interval" in found.sentence


def test_a_ratio_of_several_visits_counts_visits_and_not_repeats(quickstart: Arms) -> None:
    """Every repeat of a visit shares its launch: four pairs in two visits are two units."""
    line, tree = (
        in_visits(quickstart[name], 1.0, factor)
        for name, factor in (("linear-8", 1.0), ("tree-8-31-4", 1.1))
    )

    ratio = throughput_ratio(line.at(4), tree.at(4))
    single = throughput_ratio(quickstart["linear-8"].at(4), quickstart["tree-8-31-4"].at(4))

    assert ratio is not None
    assert single is not None
    assert (single.n, ratio.n) == (2, 2)
    assert "visits" in ratio.method
    assert ratio.value == pytest.approx(single.value / 1.1**0.5)


def test_a_comparison_of_two_visits_tells_the_drift(quickstart: Arms) -> None:
    names = ("linear-8", "tree-8-31-4")
    arms = [in_visits(quickstart[name], 1.0, 1.05) for name in names]

    found = compare_linear_with_trees(arms, arms)

    assert found.visits == 2
    assert found.drift is not None
    assert found.drift.overall.value == pytest.approx(1 / 1.05)
