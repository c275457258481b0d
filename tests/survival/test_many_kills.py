"""Some hundreds of kills, minutes long: `pytest -m slow tests/survival/test_many_kills.py`."""

import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def undisturbed(sweeper, sweep, folder):
    """How long the sweep takes when nobody kills it."""
    started_at = time.monotonic()
    assert sweeper.run("sweep", sweep, "--out", folder) == 0
    return time.monotonic() - started_at


def test_200_kills_over_a_quick_rude_server(
    sweeper, survivors, read_run, write_rude_sweep, living, tmp_path
):
    sweep = write_rude_sweep("fork", repeats="1")
    longest_s = undisturbed(sweeper, sweep, tmp_path / "undisturbed")
    asked = read_run(tmp_path / "undisturbed").trials()
    assert len(asked) == 4

    for run in survivors(sweep, kills=200, longest_s=longest_s, seed=200):
        assert run.trials() == asked
        assert run.requests_a_trial() == {4}
        assert run.integrity() == ["ok"]
        assert living(sweep.parent / "pids") == []


def test_10_kills_over_the_embedded_engine(sweeper, survivors, read_run, write_sweep, tmp_path):
    sweep = write_sweep(
        arms="[autoregressive, {linear: {block_size: 8}}]", concurrency="[1, 2]", repeats=2
    )
    longest_s = undisturbed(sweeper, sweep, tmp_path / "undisturbed")
    asked = read_run(tmp_path / "undisturbed").trials()
    assert len(asked) == 8

    for run in survivors(sweep, kills=10, longest_s=longest_s, seed=10):
        assert run.trials() == asked
        assert run.requests_a_trial() == {6}
        assert run.integrity() == ["ok"]
        assert engines(run.folder) == []


def engines(folder):
    """Servers whose output goes to this run, and which live."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if Path(f"/proc/{process.pid}/fd/1").readlink().parent == folder:
                found.append(process.pid)
    return found
