"""ddbench and its server's guard are killed with kill -9; its next call on the folder cleans up."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ddbench.server.leftovers import stop_leftover_servers
from ddbench.server.ports import free_port

RUDE_SERVER = Path(__file__).parent / "rude_server.py"
DDBENCH = """
import sys, time
from pathlib import Path
from ddbench.records import ServerCommand
from ddbench.server.running import running_server
log, port, *argv = sys.argv[1:]
command = ServerCommand(argv=tuple(argv), env={}, model_path="our-model")
with running_server(command, host="127.0.0.1", port=int(port), log_path=Path(log),
                    expected_model="our-model"):
    print("ready", flush=True)
    time.sleep(600)
"""
MANNERS = ["--fork", "--fork-session", "--fork-orphan", "--fork-nameless"]


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def killed_ddbench(folder: Path, manner: str):
    """The pid of a worker that outlived its server and the ddbench that was killed."""
    pids, port = folder / "pids", free_port("127.0.0.1")
    server = [sys.executable, str(RUDE_SERVER), "--port", str(port), manner, "--pid-file", pids]
    ddbench = subprocess.Popen(
        [sys.executable, "-c", DDBENCH, folder / "arm-1.log", str(port), *map(str, server)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert ddbench.stdout is not None
    assert ddbench.stdout.readline() == "ready\n"
    while not (pids.exists() and pids.read_text().endswith("\n")):
        time.sleep(0.05)
    worker = int(pids.read_text())
    (guard,) = psutil.Process(ddbench.pid).children()
    guard.kill()  # first, as the kernel's out-of-memory killer may: else no worker is left
    ddbench.kill()
    ddbench.communicate()
    assert lives(worker)  # else there is nothing to test
    try:
        yield worker
    finally:
        if lives(worker):
            os.kill(worker, signal.SIGKILL)


@pytest.mark.parametrize("manner", MANNERS)
def test_a_worker_that_outlived_ddbench_is_stopped(tmp_path, manner):
    with killed_ddbench(tmp_path, manner) as worker:
        stopped = stop_leftover_servers(tmp_path)

        assert worker in stopped
        assert not lives(worker)
        assert stop_leftover_servers(tmp_path) == []


@pytest.mark.parametrize("manner", ["--fork-session", "--fork-nameless"])
def test_a_worker_of_another_run_is_left_alone(tmp_path, manner):
    (tmp_path / "run").mkdir()
    (tmp_path / "run-2").mkdir()

    with killed_ddbench(tmp_path / "run-2", manner) as worker:
        assert stop_leftover_servers(tmp_path / "run") == []
        assert lives(worker)


def test_a_program_whose_output_its_user_adds_to_a_log_is_left_alone(tmp_path):
    """Its session is led by the user's shell, which writes elsewhere."""
    log = tmp_path / "arm-1.log"
    shell = subprocess.Popen(
        ["sh", "-c", f"sleep 600 >> {log} 2>&1 & echo $!; wait"],
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert shell.stdout is not None
    user = int(shell.stdout.readline())

    stopped = stop_leftover_servers(tmp_path)

    assert stopped == []
    assert lives(user)
    os.killpg(shell.pid, signal.SIGKILL)
    shell.communicate()


def test_a_program_that_only_reads_the_log_is_left_alone(tmp_path):
    (tmp_path / "arm-1.log").touch()
    reader = subprocess.Popen(
        ["tail", "-f", tmp_path / "arm-1.log"], start_new_session=True, stdout=subprocess.PIPE
    )

    assert stop_leftover_servers(tmp_path) == []
    assert reader.poll() is None
    reader.kill()
    reader.communicate()
