"""What a host must have for a server, and which trials stay on one host."""

import pytest

from ddbench.errors import PlanError
from ddbench.plan.blocks import blocks
from ddbench.plan.expand import expand
from ddbench.plan.read import parse_sweep
from ddbench.plan.resources import resources_of

SGLANG = """
name: x
server: {{engine: sglang, model: m, python: p, flags: {{{flags}}}}}
arms: [{{plain: {{algorithm: null}}}}]
"""


def needed(flags: str, extra: str = "") -> dict[str, float]:
    plan = parse_sweep(SGLANG.format(flags=flags) + extra, file="x.yaml")
    return resources_of(plan.servers[0], dict(plan.resources))


@pytest.mark.parametrize(
    ("flags", "gpus"),
    [
        ("", 1),
        ("tp-size: 8", 8),
        ("tensor-parallel-size: 2, pp-size: 4", 8),
        ("tp-size: 2, dp-size: 3", 6),
        ("tp-size: 8, dp-size: 8, enable-dp-attention: true", 8),
        ("device: cpu", None),
    ],
)
def test_gpus_follow_from_the_flags(flags: str, gpus: int | None) -> None:
    assert needed(flags).get("GPU") == gpus


def test_what_the_sweep_file_says_stands_above_the_flags() -> None:
    assert needed("tp-size: 8", "resources: {GPU: 4, h100: 1, CPU: 0}\n") == {"GPU": 4, "h100": 1}


def test_a_server_over_several_hosts_is_refused() -> None:
    with pytest.raises(PlanError, match="spans several hosts"):
        needed("nnodes: 2")


def test_a_negative_amount_is_refused() -> None:
    with pytest.raises(PlanError, match=r"resources\.GPU"):
        needed("", "resources: {GPU: -1}\n")


SWEEP = "name: x\narms: [autoregressive, {linear: {block_size: 8}}]\nload: {concurrency: [1, 2]}\n"


def test_a_visit_stays_on_one_host_with_all_its_arms() -> None:
    trials = expand(parse_sweep(SWEEP + "visits: 3\n", file="x.yaml"))

    found = blocks(trials, "visits")

    assert [trial for block in found for trial in block] == trials
    assert [{trial.visit for trial in block} for block in found] == [{0}, {1}, {2}]
    assert all(len({trial.arm for trial in block}) == 2 for block in found)


def test_launches_may_be_spread_one_by_one() -> None:
    trials = expand(parse_sweep(SWEEP + "visits: 2\n", file="x.yaml"))

    found = blocks(trials, "launches")

    assert [{(trial.visit, trial.arm) for trial in block} for block in found] == [
        {(0, "autoregressive")},
        {(0, "linear-8")},
        {(1, "linear-8")},
        {(1, "autoregressive")},
    ]


def test_a_server_that_someone_else_runs_is_loaded_by_one_host_at_a_time() -> None:
    text = "name: x\narms: [autoregressive]\nvisits: 3\n"
    text += "server: {engine: attach, base_url: 'http://h:1'}\n"

    assert len(blocks(expand(parse_sweep(text, file="x.yaml")), "launches")) == 1
