"""kill -9 of ddbench at any moment: the next call continues, and nothing is left over.

test_many_kills.py does the same some hundreds of times.
"""

import os
import signal
import time

import psutil
import pytest


def test_a_sweep_killed_at_random_moments_is_the_sweep_that_was_asked_for(
    sweeper, survivors, read_run, write_rude_sweep, living, tmp_path
):
    sweep = write_rude_sweep("fork", repeats="1")
    started_at = time.monotonic()
    assert sweeper.run("sweep", sweep, "--out", tmp_path / "undisturbed") == 0
    longest_s = time.monotonic() - started_at
    asked = read_run(tmp_path / "undisturbed").trials()
    assert len(asked) == 4

    for run in survivors(sweep, kills=6, longest_s=longest_s, seed=1):
        assert run.trials() == asked  # the same trials, each once
        assert run.requests_a_trial() == {4}
        assert run.integrity() == ["ok"]
        assert living(sweep.parent / "pids") == []


@pytest.mark.parametrize("manners", ["fork", "fork-stubborn,ignore-sigterm"])
def test_a_killed_sweep_leaves_no_server_and_no_worker_5_s_later(
    sweeper, write_rude_sweep, living, tmp_path, manners
):
    sweep = write_rude_sweep(manners, step_s=0.2, visits=1)
    pids = sweep.parent / "pids"
    killed = sweeper.start("sweep", sweep, "--out", tmp_path / "run")
    written(pids, 2)

    os.kill(killed, signal.SIGKILL)
    assert sweeper.ended(10.0) == -signal.SIGKILL

    deadline = time.monotonic() + 5.0
    while living(pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert living(pids) == []


def test_a_worker_that_outlives_a_killed_sweep_and_its_guard_is_stopped_by_resume(
    sweeper, write_rude_sweep, living, tmp_path
):
    sweep = write_rude_sweep("fork", step_s=0.2, visits=1, repeats="1", concurrency="[1]")
    pids = sweep.parent / "pids"
    first = sweeper.start("sweep", sweep, "--out", tmp_path / "run")
    server, worker = written(pids, 2)

    guard = psutil.Process(server).parent()
    guard.kill()  # first, as the kernel's out-of-memory killer may
    os.kill(first, signal.SIGKILL)
    assert sweeper.ended(10.0) == -signal.SIGKILL
    time.sleep(1.0)
    assert living(pids) == [worker]  # else there is nothing to test
    sweeper.start("sweep", "--resume", tmp_path / "run")
    written(pids, 4)

    assert {server, worker}.isdisjoint(living(pids))
    assert sweeper.ended(60.0) == 0
    assert living(pids) == []


def written(pids, count):
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        if pids.exists() and len(found := pids.read_text().split()) >= count:
            return [int(pid) for pid in found]
        time.sleep(0.02)
    raise AssertionError(f"{pids} never held {count} pids")
