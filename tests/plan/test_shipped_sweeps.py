"""The sweep files of the founding story: what each must hold to answer its question."""

from collections import Counter
from pathlib import Path

import pytest

from ddbench.plan.argv import server_command
from ddbench.plan.expand import by_launch, expand
from ddbench.plan.read import parse_sweep
from ddbench.records import SweepPlan

KIMI = Path(__file__).parents[2] / "sweeps" / "kimi-k2.6-tp8.yaml"


@pytest.fixture(scope="module")
def kimi() -> SweepPlan:
    environment = {"DDBENCH_SGLANG_PYTHON": "/usr/bin/python3"}
    return parse_sweep(KIMI.read_text(), file=str(KIMI), environment=environment)


def test_every_setting_runs_with_cuda_graphs_and_without(kimi: SweepPlan) -> None:
    graphs = [not dict(server.flags).get("disable-cuda-graph") for server in kimi.servers]
    settings = Counter(
        (server.speculation, on) for server, on in zip(kimi.servers, graphs, strict=True)
    )

    assert set(settings.values()) == {1}
    assert {s for s, on in settings if on} == {s for s, on in settings if not on}
    trees = {(s.budget, s.topk) for s, on in settings if on and s.budget}
    assert trees == {(b, k) for b in (7, 15, 32) for k in (3, 8)} | {(7, 1)}
    assert {s.block_size for s, _ in settings if s.algorithm} == {8}
    assert {s.algorithm for s, _ in settings} == {None, "DFLASH", "DDTREE"}


def test_every_server_is_sharded_alike_and_makes_room_for_the_largest_load(
    kimi: SweepPlan,
) -> None:
    for server in kimi.servers:
        flags = dict(server.flags)
        assert (flags["tp-size"], flags["ep-size"]) == (8, 8)
        assert server.max_running_requests == flags["cuda-graph-max-bs-decode"] == 80
    concurrencies = [load.concurrency for load in kimi.loads]
    assert (concurrencies[0], concurrencies[-1]) == (1, 80)
    assert {load.prompts for load in kimi.loads} == {"builtin:suite"}


def test_every_arm_runs_on_the_one_attention_backend_that_verifies_trees_of_mla(
    kimi: SweepPlan,
) -> None:
    """Its default on Hopper and Blackwell is another one, which DDTREE refuses for MLA."""
    assert {dict(server.flags)["attention-backend"] for server in kimi.servers} == {"triton"}


def test_every_arm_has_a_command_and_two_launches(kimi: SweepPlan) -> None:
    launches = [server for server, _ in by_launch(expand(kimi))]

    assert Counter(launches) == dict.fromkeys(kimi.servers, 2)
    for server in kimi.servers:
        argv = server_command(server, port=1, environment={}).argv
        assert "--ep-size" in argv
        asked = dict(server.flags).get("disable-cuda-graph", False)
        assert ("--disable-cuda-graph" in argv) == asked, "also in a dry run on a laptop"
