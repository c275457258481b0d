"""Arms that several hosts measured: the host is a block, and unlike hosts are refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from ddbench.compare.arms import ComparedArm, arms_of
from ddbench.compare.drift import drift
from ddbench.compare.gate import differences
from ddbench.compare.pairing import paired_trials, throughput_ratio
from ddbench.records import Environment, Launch, RunResult

Arms = dict[str, ComparedArm]
Spread = Callable[..., ComparedArm]
CONCURRENCY = 4


@pytest.fixture
def spread() -> Spread:
    """An arm whose repeats were visits of these hosts, each so much slower than measured."""

    def place(arm: ComparedArm, hosts: list[str], slowness: dict[str, float]) -> ComparedArm:
        def on(result: RunResult, number: int) -> RunResult:
            host = hosts[number]
            trial = replace(result.trial, visit=number, repeat=0)
            assert result.wall_s is not None
            wall_s = result.wall_s * slowness.get(host, 1.0)
            return replace(result, trial=trial, host=host, wall_s=wall_s)

        first = arm.at(CONCURRENCY)[0]
        return replace(arm, trials=tuple(on(first, number) for number in range(len(hosts))))

    return place


def test_a_ratio_over_hosts_counts_hosts_and_keeps_their_speed_out(
    quickstart: Arms, spread: Spread
) -> None:
    slowness = {"slow": 3.0}
    hosts = ["fast", "slow", "fast", "slow"]
    line = spread(quickstart["linear-8"], hosts, slowness)
    tree = spread(quickstart["tree-8-15-4"], hosts, slowness)

    ratio = throughput_ratio(line.trials, tree.trials)

    alone = throughput_ratio(line.trials[:1], tree.trials[:1])
    assert ratio is not None
    assert alone is not None
    assert ratio.n == 2
    assert ratio.method.endswith("over hosts")
    assert ratio.value == pytest.approx(alone.value)


def test_trials_of_two_hosts_are_no_pair(quickstart: Arms, spread: Spread) -> None:
    line = spread(quickstart["linear-8"], ["alpha", "beta"], {})
    tree = spread(quickstart["tree-8-15-4"], ["alpha", "alpha"], {})

    pairs = paired_trials(line.trials, tree.trials)

    assert [(a.host, b.host) for a, b in pairs] == [("alpha", "alpha")]


def test_two_hosts_that_differ_are_no_drift(quickstart: Arms, spread: Spread) -> None:
    arm = spread(quickstart["linear-8"], ["fast", "slow", "fast", "slow"], {"slow": 3.0})

    found = drift([arm])

    assert found is not None
    assert found.overall.value == pytest.approx(1.0)
    assert drift([spread(quickstart["linear-8"], ["fast", "slow"], {"slow": 3.0})]) is None


def test_other_hosts_are_a_label(quickstart: Arms, spread: Spread) -> None:
    line = spread(quickstart["linear-8"], ["alpha"], {})
    tree = spread(quickstart["tree-8-15-4"], ["beta"], {})

    labels = [str(label) for label in differences(line, tree).labels]

    assert "hosts: alpha against beta" in labels


@pytest.mark.parametrize(
    ("fact", "values"),
    [
        ("cpu.model", ("EPYC 7742", "EPYC 9654")),
        ("cpu.cores_usable", ("64", "96")),
        ("gpu.0.name", ("NVIDIA H100", "NVIDIA A100")),
    ],
)
def test_launches_of_an_arm_on_unlike_hardware_are_refused(
    quickstart: Arms, fact: str, values: tuple[str, str]
) -> None:
    line, tree = quickstart["linear-8"], quickstart["tree-8-15-4"]

    def launched(value: str) -> Launch:
        environment = Environment({**tree.facts, fact: value}, {})
        return Launch(tree.server, (), None, 1.0, environment, None)

    (unlike,) = arms_of(tree.run, map(launched, values), tree.trials)
    (alike,) = arms_of(tree.run, map(launched, values[:1] * 2), tree.trials)

    assert f"launches of {tree.name} among themselves" in [
        difference.what for difference in differences(line, unlike).refused
    ]
    assert not [d for d in differences(alike, alike).refused if d.what.startswith("launches")]
