"""`ddbench check` on runs in which trials failed: nothing that failed looks done."""

from dataclasses import replace

import pytest

from ddbench.records import (
    ClientHealth,
    Counters,
    Environment,
    Failure,
    Launch,
    LoadConfig,
    LogExcerpt,
    RequestCompleted,
    RequestFailed,
    RunResult,
    ServerConfig,
    Speculation,
    SweepPlan,
    Trial,
)
from ddbench.runs.store import RunStore

SERVER = ServerConfig("embedded", "builtin", "builtin", Speculation("DFLASH", 8), 2)
CRASHED = Failure("out_of_memory", "the line", "Give it less.")
SOME_FAILED = Failure("requests_failed", "1 of 2 requests: reset", "Look at them.")
ANSWERED = RequestCompleted(
    prompt_id="p0", sent_s=0.0, lateness_s=0.0, ttft_s=0.1, e2e_s=1.0, prompt_tokens=9,
    completion_tokens=31, output_ids=tuple(range(31)), output_logprobs=None,
    finish_reason="length", retractions=0, cached_tokens=0, verify_ct=10, correct_drafts=20,
    committed_drafts=20, histogram=(2, 1, 2, 5),
)  # fmt: skip


@pytest.fixture
def result():
    trial = Trial("linear-8", SERVER, LoadConfig("builtin:mixed", 2, 2, 31))
    return RunResult(
        key="k",
        trial=trial,
        started_at="2026-01-01T00:00:00+00:00",
        requests=(ANSWERED, replace(ANSWERED, prompt_id="p1")),
        wall_s=2.0,
        client=ClientHealth(0.1, 0.001, 20),
        log=LogExcerpt(),
        counters_before=Counters(),
        counters_after=Counters(),
        failure=None,
    )


@pytest.fixture
def run(tmp_path):
    """run(result, ...): the folder of a run that holds them."""

    def store(*results):
        folder = tmp_path / "run"
        plan = SweepPlan("small", "name: small\n", (), (SERVER,), (), 1, 1)
        with RunStore.create(folder, plan) as written:
            launch = Launch(SERVER, ("x",), None, 1.0, Environment({}, {}), None)
            launch_id = written.add_launch(launch)
            for each in results:
                written.add_result(launch_id, each)
        return folder

    return store


def test_a_trial_without_a_valid_result_makes_a_check_partial(ddbench, run, result):
    folder = run(replace(result, requests=(), failure=CRASHED))

    done = ddbench("check", folder)

    assert done.returncode == 2
    assert "partial result: 1 trials of" in done.stderr
    assert "out_of_memory" in done.stderr


def test_answers_beside_failed_requests_are_checked(ddbench, run, result):
    reset = RequestFailed("p1", 0.1, 0.0, "the connection was reset")
    folder = run(replace(result, requests=(ANSWERED, reset), failure=SOME_FAILED))

    done = ddbench("check", folder)

    assert done.returncode == 2
    assert "WARNING DDB209" in done.stdout
    assert "1 of 2 requests failed, most often: the connection was reset" in done.stdout


def test_a_trial_that_was_tried_again_is_whole(ddbench, run, result):
    folder = run(replace(result, requests=(), failure=CRASHED), result)

    done = ddbench("check", folder)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "partial" not in done.stderr
