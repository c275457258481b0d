"""Stock SGLang on a CPU records its drafts, and what they predict is what it then does."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import orjson
import pytest

from ddbench.draft_records import read_recording
from ddbench.runs.store import RunStore

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(1800)]  # three starts, minutes under load

COUNT = 12

SWEEP = """
name: probe
server: {{engine: sglang, model: builtin, python: {python}, flags: {{device: cpu}}}}
arms:
  - linear: {{block_size: 8, record_drafts: true}}
  - linear: {{block_size: 8}}
  - unfit: {{algorithm: DFLASH, block_size: 8, env: {{DDBENCH_RECORD_DRAFTS: {stray}}}}}
load: {{prompts: "builtin:mixed", count: {count}, concurrency: [4], max_new_tokens: 48}}
repeats: 1
"""


@pytest.fixture(scope="module")
def run(
    sglang_python: str,
    ddbench: Callable[..., CompletedProcess[str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A recording, the same arm measured, and a server that is to record and not to commit one."""
    folder = tmp_path_factory.mktemp("probe")
    stray = folder / "stray.drafts"
    sweep = folder / "sweep.yaml"
    sweep.write_text(SWEEP.format(python=sglang_python, stray=stray, count=COUNT))
    done = ddbench("sweep", sweep, "--out", folder / "run", timeout_s=1700.0)
    assert done.returncode == 1, done.stderr  # the unfit arm's trial failed
    assert not stray.exists()
    return folder / "run"


def test_linear_steps_are_those_that_the_recording_predicts(
    run: Path, ddbench: Callable[..., CompletedProcess[str]]
) -> None:
    done = ddbench("predict", run, "--validate", "--json")

    validation = orjson.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    (linear,) = validation["arms"]
    assert (linear["arm"], linear["compared"], linear["other_text"]) == ("linear-8", COUNT, 0)
    assert linear["measured_steps"] < sum(tokens - 1 for tokens in recorded_lengths(run)) / 2


def test_commits_one_token_a_step_and_keeps_the_text(run: Path) -> None:
    with RunStore.open(run) as store:
        by_arm = {result.trial.arm: result for result in store.results()}

    probe, linear = by_arm["linear-8-drafts"].completed, by_arm["linear-8"].completed
    assert all(request.verify_ct == request.completion_tokens - 1 for request in probe)
    assert [r.output_ids for r in probe] == [r.output_ids for r in linear]


def test_log_probs_are_normalised_and_best_first(run: Path) -> None:
    (path,) = run.glob("*.drafts")
    recording = read_recording(path)

    for answer in recording.answers:
        _, log_probs = recording.drafts(answer)
        assert (log_probs <= 0).all()
        assert (log_probs[:, :, :-1] >= log_probs[:, :, 1:]).all()


def test_a_server_that_does_not_commit_one_token_a_step_refuses_to_record(run: Path) -> None:
    with RunStore.open(run) as store:
        (unfit,) = [r for r in store.results() if r.trial.arm.startswith("unfit")]
        log = next(run.glob("unfit*.log")).read_text()

    assert unfit.failure is not None
    assert "cannot record drafts in this server: SGLANG_SIMULATE_ACC_LEN is not 1" in log


def recorded_lengths(run: Path) -> list[int]:
    with RunStore.open(run) as store:
        (probe,) = [r for r in store.results() if r.trial.load.record_drafts]
    return [request.completion_tokens for request in probe.completed]
