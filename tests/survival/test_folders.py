"""One run folder, one writer; and a disk that is full."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

COMMAND = [sys.executable, "-c", "from ddbench.cli.main import main; main()", "sweep"]


def test_a_second_sweep_on_a_folder_is_refused_and_harms_nothing(
    ddbench, sweeper, read_run, write_rude_sweep, tmp_path
):
    sweep, out = write_rude_sweep("waits-for-go", visits=1), tmp_path / "run"
    sweeper.start("sweep", sweep, "--out", out)
    while not list(out.glob("*.log")):
        time.sleep(0.05)

    again = ddbench("sweep", "--resume", out)
    anew = ddbench("sweep", sweep, "--out", out)
    (sweep.parent / "go").touch()

    for refused in (again, anew):
        assert refused.returncode == 2
        assert "error: " in refused.stderr
        assert "Traceback" not in refused.stderr
    assert "another ddbench is writing" in again.stderr
    assert sweeper.ended(120.0) == 0
    assert set(read_run(out).trials().values()) == {1}


def test_a_dead_sweep_holds_no_lock(sweeper, read_run, write_rude_sweep, tmp_path):
    sweep, out = write_rude_sweep("waits-for-go", visits=1), tmp_path / "run"
    first = sweeper.start("sweep", sweep, "--out", out)
    while not list(out.glob("*.log")):
        time.sleep(0.05)

    os.kill(first, signal.SIGKILL)
    assert sweeper.ended(10.0) == -signal.SIGKILL
    (sweep.parent / "go").touch()

    assert sweeper.run("sweep", "--resume", out) == 0
    assert set(read_run(out).trials().values()) == {1}


def test_a_full_disk_stops_the_sweep_in_one_sentence_and_loses_nothing(
    ddbench, read_run, write_rude_sweep, living, tmp_path
):
    sweep = write_rude_sweep("fork", count=40, max_new_tokens=64, visits=1)
    out = tmp_path / "run"
    limited = ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh", *COMMAND, sweep, "--out", out]

    full = subprocess.run(limited, capture_output=True, text=True, timeout=120)
    kept = read_run(out).trials()
    resumed = ddbench("sweep", "--resume", out)

    assert full.returncode == 2
    assert "error: could not write" in full.stderr
    assert "Free space" in full.stderr
    assert "Traceback" not in full.stderr
    assert resumed.returncode == 0, resumed.stderr
    trials = read_run(out).trials()
    assert kept
    assert Counter(kept) <= trials
    assert len(trials) == 4
    assert set(trials.values()) == {1}
    assert read_run(out).integrity() == ["ok"]
    assert living(sweep.parent / "pids") == []
