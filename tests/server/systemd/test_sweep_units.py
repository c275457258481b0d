"""Whole sweeps whose servers are units, as processes, kill -9 and --resume included."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ARMS = "\n  - autoregressive\n  - linear: {block_size: 8}\n"
UNITS = "  launcher: {systemd: {timeout_stop_s: 10}}\n"
DDBENCH = "from ddbench.cli.main import main; main()"


@pytest.fixture
def rows(ddbench):
    """What a run holds of every request that was answered, without times."""

    def read(run: Path) -> list[tuple]:
        done = ddbench("export", run, "--format", "jsonl")
        assert done.returncode == 0, done.stderr
        exported = [json.loads(line) for line in done.stdout.splitlines()]
        return sorted(
            (row["arm"], row["concurrency"], row["prompt_id"], row["completion_tokens"])
            for row in exported
            if row["status"] == "completed"
        )

    return read


@pytest.fixture
def start_sweep(user_manager, tmp_path):
    """Starts `ddbench sweep` and returns it with its run folder; output goes to a file."""
    assert user_manager is None
    started = []

    def start(*words: object) -> subprocess.Popen:
        with (tmp_path / "output").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", DDBENCH, "sweep", *map(str, words)],
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def shape_of(table: str) -> list[str]:
    """The words of a table without its numbers, and without the run's folder at its end."""
    lines = table.strip().splitlines()[:-1]
    return [" ".join(re.sub(r"[0-9.]+", "#", line).split()) for line in lines]


def test_a_sweep_gives_the_same_table_as_with_subprocesses_and_leaves_no_unit(
    no_units, ddbench, write_sweep, rows, tmp_path
):
    assert no_units is None
    plain, units = tmp_path / "plain", tmp_path / "units"

    by_subprocess = ddbench("sweep", write_sweep(arms=ARMS, concurrency="[1, 2]"), "--out", plain)
    by_units = ddbench(
        "sweep", write_sweep(arms=ARMS, concurrency="[1, 2]", server=UNITS), "--out", units
    )

    assert by_subprocess.returncode == by_units.returncode == 0, by_units.stderr
    assert by_units.stdout.splitlines()[-1] == str(units)
    assert shape_of(by_units.stdout) == shape_of(by_subprocess.stdout)
    assert rows(units) == rows(plain)
    assert len(rows(units)) == 2 * 2 * 6


def test_kill_9_of_a_sweep_and_resume_leave_a_whole_run_and_no_unit(
    no_units, ddbench, write_sweep, start_sweep, our_units, rows, tmp_path, wait_until
):
    assert no_units is None
    out = tmp_path / "run"
    sweep = write_sweep(arms=ARMS, server=UNITS, repeats=3)
    process = start_sweep(sweep, "--out", out)
    wait_until(lambda: "[1/6]" in (tmp_path / "output").read_text(), 60.0)

    process.kill()
    process.wait()
    assert "[6/6]" not in (tmp_path / "output").read_text()
    wait_until(lambda: our_units() == "")
    done = ddbench("sweep", "--resume", out)

    assert done.returncode == 0, done.stderr
    assert len(rows(out)) == 2 * 3 * 6
    assert our_units() == ""


def test_resume_ends_a_unit_that_outlived_ddbench_and_its_keeper_s_watch(
    no_units, ddbench, write_sweep, start_sweep, our_units, tmp_path, wait_until, systemctl
):
    assert no_units is None
    out = tmp_path / "run"
    process = start_sweep(write_sweep(server=UNITS, repeats=4), "--out", out)
    wait_until(lambda: "[1/4]" in (tmp_path / "output").read_text(), 60.0)
    (unit,) = re.findall(r"ddbench-\S+\.service", our_units())[:1]
    keeper = int(systemctl("show", unit, "--property=MainPID", "--value"))
    os.kill(keeper, signal.SIGSTOP)

    process.kill()
    process.wait()
    time.sleep(1.0)
    assert unit in our_units()
    done = ddbench("sweep", "--resume", out)

    assert done.returncode == 0, done.stderr
    assert not psutil.pid_exists(keeper)
    assert our_units() == ""


def test_ctrl_c_of_a_sweep_leaves_no_unit(
    no_units, write_sweep, start_sweep, our_units, tmp_path, wait_until
):
    assert no_units is None
    sweep = write_sweep(server=UNITS, count=40, max_new_tokens=64, repeats=20)
    process = start_sweep(sweep, "--out", tmp_path / "run")
    wait_until(lambda: "[1/20]" in (tmp_path / "output").read_text(), 60.0)

    def has_ended_after_ctrl_c() -> bool:
        """Pressed again and again: Python drops one that lands in the callback of a weak set."""
        process.send_signal(signal.SIGINT)
        time.sleep(1.0)
        return process.poll() is not None

    wait_until(has_ended_after_ctrl_c, within_s=30.0)
    assert process.returncode in (130, -signal.SIGINT)
    assert our_units() == ""


def test_a_server_that_memory_max_kills_fails_its_trials_with_that_class(
    no_units, ddbench, write_sweep, tmp_path
):
    assert no_units is None
    out = tmp_path / "run"
    tight = "  launcher: {systemd: {memory_max: 40M}}\n"

    done = ddbench("sweep", write_sweep(server=tight), "--out", out)
    report = ddbench("export", out, "--format", "jsonl")

    assert done.returncode == 1
    assert "oom_killed" in done.stdout + done.stderr + report.stdout


def test_without_a_manager_the_sweep_names_subprocess_and_starts_nothing(
    ddbench, write_sweep, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)

    done = ddbench("sweep", write_sweep(server=UNITS), "--out", tmp_path / "run")

    assert done.returncode == 2
    assert "no systemd user manager answers here" in done.stderr
    assert "launcher: subprocess" in done.stderr
    assert not (tmp_path / "run").exists()


def test_without_systemd_the_sweep_names_subprocess_and_starts_nothing(
    ddbench, write_sweep, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))

    done = ddbench("sweep", write_sweep(server=UNITS), "--out", tmp_path / "run")

    assert done.returncode == 2
    assert "this machine has no systemctl" in done.stderr
    assert "launcher: subprocess" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.fixture
def admins_unit(no_units, systemctl, tmp_path):
    """A unit that an administrator wrote and started; it serves nothing that a sweep would."""
    assert no_units is None
    path = Path("/run/user/0/systemd/user/production.service")
    path.parent.mkdir(parents=True, exist_ok=True)
    mark = tmp_path / "started"
    start = f"/bin/sh -c 'echo started >> {mark}; exec sleep 6000'"
    path.write_text(f"[Service]\nExecStart={start}\n")
    systemctl("daemon-reload")
    systemctl("start", path.name)
    yield path
    systemctl("stop", path.name)
    path.unlink()
    systemctl("daemon-reload")


DRIVEN = "  launcher: {systemd-unit: {name: production.service, allow: restart}}\n"


def test_a_sweep_drives_a_unit_through_its_arms_and_leaves_it_running_as_before(
    admins_unit, ddbench, write_sweep, rows, systemctl, tmp_path
):
    out = tmp_path / "run"
    text = admins_unit.read_text()

    done = ddbench("sweep", write_sweep(arms=ARMS, server=DRIVEN), "--out", out)

    assert done.returncode == 0, done.stderr
    assert len(rows(out)) == 2 * 6
    assert admins_unit.read_text() == text
    assert systemctl("is-active", admins_unit.name) == "active\n"
    assert (tmp_path / "started").read_text().split() == ["started"] * 2  # before, and after
    assert (out / "linear-8-1.log").read_text().count("Decode batch") > 0


def test_kill_9_and_resume_of_a_sweep_restore_the_unit_that_it_drove(
    admins_unit, ddbench, write_sweep, start_sweep, rows, systemctl, tmp_path, wait_until
):
    out = tmp_path / "run"
    sweep = write_sweep(arms=ARMS, server=DRIVEN, repeats=3)
    process = start_sweep(sweep, "--out", out)
    wait_until(lambda: "[1/6]" in (tmp_path / "output").read_text(), 60.0)

    process.kill()
    process.wait()
    refused = ddbench("sweep", sweep, "--out", tmp_path / "another")
    done = ddbench("sweep", "--resume", out)

    assert refused.returncode == 2
    assert "driven by another run" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert len(rows(out)) == 2 * 3 * 6
    assert systemctl("is-active", admins_unit.name) == "active\n"
    assert "ddbench" not in systemctl("cat", admins_unit.name)
    assert (tmp_path / "started").exists()
