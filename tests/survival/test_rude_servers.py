"""Servers with bad manners, from the sweep file to the exit code."""

import json
import time

import pytest

from ddbench.records import Failure

STARTUP = {
    "hang-at-start": "not_ready",
    "mute": "not_ready",
    "slow-info": "not_ready",
    "out-of-memory": "cuda_oom_alloc",
}
ANSWERS = {
    "never-answers": "no_answer",
    "trickles": "no_answer",
    "dies-mid-stream": "connection_lost",
    "resets": "connection_lost",
    "half-event": "bad_answer",
    "invalid-json": "bad_answer",
    "nan": "bad_answer",
    "wrong-meta": "bad_answer",
    "no-meta": "bad_answer",
}
LOGS = {"rotates-log": "log_rotated", "truncates-log": "log_rotated"}
DEADLINE_S = 90.0  # of a sweep whose own limits add up to a few seconds; the rest is a busy machine


def rude_sweep(write_rude_sweep, manners):
    never_ready = STARTUP.get(manners.partition(",")[0]) == "not_ready"
    return write_rude_sweep(
        manners,
        concurrency="[1]",
        count=2,
        repeats="1",
        visits=1,
        timeout_s=2.0,
        ready_timeout_s=3 if never_ready else 60,
    )


@pytest.mark.parametrize(("manners", "crash_class"), {**STARTUP, **ANSWERS, **LOGS}.items())
def test_it_is_a_classified_failure_and_the_sweep_ends_by_itself(
    sweeper, read_run, write_rude_sweep, living, tmp_path, manners, crash_class
):
    sweep = rude_sweep(write_rude_sweep, f"{manners},fork")
    started_at = time.monotonic()

    code = sweeper.run("sweep", sweep, "--out", tmp_path / "run")

    assert code == 1
    assert time.monotonic() - started_at < DEADLINE_S
    said = sweeper.log.read_text()
    assert "Traceback" not in said
    run = read_run(tmp_path / "run")
    assert run.failures() == [crash_class]
    assert run.failures("launches") == ([crash_class] if manners in STARTUP else [])
    (failure,) = run.column("SELECT failure FROM trials")
    assert Failure(**json.loads(failure)).advice
    assert living(sweep.parent / "pids") == []


@pytest.mark.parametrize("manners", ["chatty", "fork"])
def test_what_does_no_harm_is_no_failure(sweeper, read_run, write_rude_sweep, tmp_path, manners):
    sweep = rude_sweep(write_rude_sweep, manners)

    assert sweeper.run("sweep", sweep, "--out", tmp_path / "run") == 0

    assert read_run(tmp_path / "run").failures() == []


@pytest.mark.slow  # the grace is 20 s; test_running.py has the same with a shorter one
def test_a_server_that_ignores_sigterm_is_killed_after_its_grace(
    sweeper, read_run, write_rude_sweep, living, tmp_path
):
    sweep = rude_sweep(write_rude_sweep, "ignore-sigterm,fork-stubborn")

    assert sweeper.run("sweep", sweep, "--out", tmp_path / "run") == 0

    assert read_run(tmp_path / "run").failures() == []
    assert living(sweep.parent / "pids") == []
