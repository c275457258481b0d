"""Arms that record their drafts: named apart, run once, and told so on the command line."""

from pathlib import Path

import pytest

from ddbench.errors import PlanError
from ddbench.plan.argv import server_command
from ddbench.plan.expand import by_launch, expand
from ddbench.plan.read import parse_sweep
from ddbench.records import SweepPlan

SWEEP = """
name: recorded
server: {{engine: {engine}, model: builtin, python: {python}}}
arms: [{arms}]
load: {{count: 12, concurrency: [2, 8], record_drafts: {every}}}
repeats: 2
visits: 2
"""
BESIDE = "linear: {block_size: 8, record_drafts: true}, linear: {block_size: 8}"


def plan(arms: str, *, engine: str = "embedded", every: str = "false") -> SweepPlan:
    python = "/py" if engine == "sglang" else "null"
    text = SWEEP.format(engine=engine, arms=arms, every=every, python=python)
    return parse_sweep(text, file="x.yaml", environment={})


def test_a_recording_arm_stands_beside_the_measured_one() -> None:
    read = plan(BESIDE)

    assert [arm.name for arm in read.arms] == ["linear-8-drafts", "linear-8"]
    assert [server.record_drafts for server in read.servers] == [True, False]
    assert len(list(by_launch(expand(read)))) == 3  # one, and the measured one twice


def test_a_recording_runs_once_at_the_first_concurrency() -> None:
    trials = expand(plan(BESIDE))

    (probe,) = [trial for trial in trials if trial.server.record_drafts]
    assert probe.load.record_drafts
    assert (probe.load.concurrency, probe.repeat, probe.visit) == (2, 0, 0)
    assert len(trials) == 1 + 8
    assert not any(trial.load.record_drafts for trial in trials if trial is not probe)


def test_the_load_can_ask_every_arm_to_record() -> None:
    read = plan("linear: {block_size: 8}", every="true")

    assert [arm.name for arm in read.arms] == ["linear-8-drafts"]
    assert len(expand(read)) == 1


@pytest.mark.parametrize("arm", ["autoregressive", "tree: {block_size: 8, budget: [7], topk: [4]}"])
def test_only_a_linear_arm_records(arm: str) -> None:
    with pytest.raises(PlanError, match=r"recorded by a linear .* server"):
        plan(arm, every="true")


def test_the_embedded_engine_is_told_by_a_flag(tmp_path: Path) -> None:
    server = plan(BESIDE).servers[0]

    command = server_command(server, port=1, environment={}, record_to=tmp_path / "x.drafts")

    at = command.argv.index("--record-drafts")
    assert command.argv[at + 1] == str(tmp_path / "x.drafts")


def test_sglang_is_told_by_variables_to_keep_one_token_a_step(tmp_path: Path) -> None:
    server = plan(BESIDE, engine="sglang").servers[0]

    command = server_command(server, port=1, environment={}, record_to=tmp_path / "x.drafts")

    assert command.env["DDBENCH_RECORD_DRAFTS"] == str(tmp_path / "x.drafts")
    assert command.env["SGLANG_SIMULATE_ACC_LEN"] == "1"
    assert command.env["SGLANG_SIMULATE_ACC_TOKEN_MODE"] == "real-draft-token"
    assert command.env["SGLANG_DFLASH_EAGER_DRAFT_SAMPLER"] == "1"


def test_a_measured_server_records_nothing() -> None:
    command = server_command(plan(BESIDE, engine="sglang").servers[1], port=1, environment={})

    assert not any("SIMULATE" in name or "RECORD" in name for name in command.env)
