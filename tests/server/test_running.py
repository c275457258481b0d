"""Every test starts a real process and checks that none is left."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import requests

from ddbench.errors import PortInUse, ServerError, ServerExitedEarly, ServerNotReady
from ddbench.records import ServerCommand
from ddbench.server.running import attached_server, is_alive, running_server

RUDE_SERVER = Path(__file__).parent / "rude_server.py"


@pytest.fixture
def run(port, tmp_path):
    """running_server on a free port, with a log in tmp_path and short waits."""

    def started(command, **changes):
        settings = {
            "host": "127.0.0.1",
            "port": port,
            "log_path": tmp_path / "server.log",
            "expected_model": "our-model",
            "ready_timeout_s": 30.0,
            "grace_s": 5.0,
        }
        return running_server(command, **(settings | changes))

    return started


def lives(pid):
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def wait_for_pids(path, count, within_s=30.0, *, at_least=False):
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        pids = path.read_text().split() if path.exists() else []
        if len(pids) == count or (at_least and len(pids) > count):
            return [int(pid) for pid in pids]
        time.sleep(0.05)
    raise AssertionError(f"{path} never held {count} pids")


def gone_within(within_s, *pids):
    deadline = time.monotonic() + within_s
    while any(lives(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def ddbench_lending(command, port, log):
    """A process that lends the server until it is killed, and the server's pid."""
    code = f"""
import time
from pathlib import Path
from ddbench.records import ServerCommand
from ddbench.server.running import running_server
command = ServerCommand(argv={command.argv!r}, env={{}}, model_path="our-model")
with running_server(
    command, host="127.0.0.1", port={port}, log_path=Path({str(log)!r}), expected_model="our-model"
) as server:
    print(server.pid, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        yield process, int(process.stdout.readline())


def test_lends_a_ready_server_and_stops_it(run, rude_server):
    with run(rude_server()) as server:
        assert requests.get(f"{server.base_url}/health_generate", timeout=30).ok
        assert is_alive(server)
        assert server.startup_s > 0

    assert not psutil.pid_exists(server.pid)  # stopped, and reaped
    assert not is_alive(server)


def test_the_server_leads_a_process_group_of_its_own(run, rude_server):
    with run(rude_server()) as server:
        assert os.getpgid(server.pid) == server.pid
        assert psutil.Process(server.pid).cmdline()[1].endswith("rude_server.py")


def test_kills_a_server_and_a_worker_that_ignore_sigterm(run, rude_server, tmp_path):
    pids = tmp_path / "pids"
    command = rude_server("--ignore-sigterm", "--fork", "--pid-file", str(pids))
    with run(command, grace_s=0.5) as server:
        (worker,) = wait_for_pids(pids, 1)

    assert not lives(server.pid)
    assert not lives(worker)


@pytest.mark.parametrize("manner", ["--fork-session", "--fork-orphan"])
def test_finds_a_worker_that_left_the_process_group(run, rude_server, tmp_path, manner):
    pids = tmp_path / "pids"
    with run(rude_server(manner, "--pid-file", str(pids)), grace_s=0.5):
        (worker,) = wait_for_pids(pids, 1)
        assert os.getpgid(worker) == worker

    assert not lives(worker)


def test_finds_a_worker_that_lost_its_parent_and_its_variables(run, rude_server, tmp_path):
    """SGLang's processes overwrite their variables with a title."""
    pids = tmp_path / "pids"
    with run(rude_server("--fork-nameless", "--pid-file", str(pids)), grace_s=0.5) as server:
        (worker,) = wait_for_pids(pids, 1)
        assert os.getpgid(worker) == server.pid

    assert not lives(worker)


def test_a_worker_of_a_server_that_died_at_start_is_stopped_too(run, rude_server, tmp_path):
    pids = tmp_path / "pids"
    command = rude_server("--fork-session", "--pid-file", str(pids), "--die-after", "2")
    with run(command, grace_s=0.5) as server:
        (worker,) = wait_for_pids(pids, 1)
        while is_alive(server):
            time.sleep(0.1)

    assert not lives(worker)


def test_a_crash_at_start_shows_the_end_of_the_log(run, rude_server):
    with pytest.raises(ServerExitedEarly, match="CUDA out of memory") as caught:
        with run(rude_server("--exit-with", "3")):
            pytest.fail("the body must not run")

    assert caught.value.exit_code == 3


def test_a_server_killed_by_a_signal_has_a_negative_exit_code(run):
    command = ServerCommand(
        argv=(sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"), env={}, model_path="m"
    )

    with pytest.raises(ServerExitedEarly) as caught:
        with run(command):
            pytest.fail("the body must not run")

    assert caught.value.exit_code == -9


@pytest.mark.parametrize("manner", ["--hang-at-start", "--unhealthy", "--model-path=other-model"])
def test_a_server_that_never_gets_ready_is_not_lent_and_not_left(run, rude_server, manner):
    before = set(psutil.Process().children(recursive=True))  # other tests' helpers
    started_at = time.monotonic()

    with pytest.raises(ServerNotReady):
        with run(rude_server(manner), ready_timeout_s=2.0):
            pytest.fail("the body must not run")

    assert time.monotonic() - started_at < 30.0
    born = set(psutil.Process().children(recursive=True)) - before
    assert not [process for process in born if lives(process.pid)]


def test_a_stranger_that_holds_the_port_is_refused_before_anything_starts(
    run, rude_server, port, tmp_path
):
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(PortInUse, match=str(port)):
            with run(rude_server()):
                pytest.fail("the body must not run")

    assert not (tmp_path / "server.log").exists()


def test_a_stranger_that_answers_on_the_port_is_not_mistaken_for_our_server(run, rude_server):
    """It binds the port after the check, while our server still loads."""
    stranger = rude_server("--model-path", "a-stranger", "--bind-after", "1.5")
    ours = ServerCommand(
        argv=(sys.executable, "-c", "import time; time.sleep(5); raise SystemExit(1)"),
        env={},
        model_path="our-model",
    )
    with subprocess.Popen(stranger.argv) as process:
        with pytest.raises(ServerExitedEarly):
            with run(ours):
                pytest.fail("the body must not run")

        assert process.poll() is None
        process.kill()


def test_a_program_that_does_not_exist_is_one_sentence(run):
    with pytest.raises(ServerError, match="no such program") as caught:
        with run(ServerCommand(argv=("/no/such/python",), env={}, model_path="m")):
            pytest.fail("the body must not run")

    assert "DDBENCH_SGLANG_PYTHON" in caught.value.remedy


def test_the_body_s_exception_passes_through_and_the_server_is_stopped(run, rude_server):
    with pytest.raises(KeyboardInterrupt):
        with run(rude_server()) as server:
            raise KeyboardInterrupt

    assert not psutil.pid_exists(server.pid)


def test_a_second_ctrl_c_during_the_grace_leaves_nothing(run, rude_server):
    started_at = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0)
    previous = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            with run(rude_server("--ignore-sigterm"), grace_s=60.0) as server:
                signal.setitimer(signal.ITIMER_REAL, 1.0)
    finally:
        signal.signal(signal.SIGALRM, previous)

    assert not psutil.pid_exists(server.pid)
    assert time.monotonic() - started_at < 30.0


@pytest.mark.parametrize("manner", ["--fork", "--fork-session", "--fork-orphan", "--fork-nameless"])
def test_kill_9_of_ddbench_leaves_neither_its_server_nor_what_that_forked(
    rude_server, port, tmp_path, manner
):
    """Within 5 s, although none of them listens to SIGTERM; and a stranger beside them lives."""
    pids = tmp_path / "pids"
    server = rude_server("--ignore-sigterm", manner, "--pid-file", str(pids))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        with ddbench_lending(server, port, tmp_path / "server.log") as (ddbench, server_pid):
            (worker,) = wait_for_pids(pids, 1)
            assert lives(server_pid)
            assert lives(worker)

            ddbench.kill()

        assert gone_within(5.0, server_pid, worker)
        assert stranger.poll() is None
        stranger.kill()


def test_a_worker_that_forks_while_it_is_ended_is_ended_too(port, tmp_path):
    """Every 0.1 s it is another process, in a session of its own: 10 s long, if nobody ends it."""
    chain = (
        "import os, sys, time\n"
        f"pids = {str(tmp_path / 'pids')!r}\n"
        "for _ in range(100):\n"
        "    time.sleep(0.1)\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    os.setsid()\n"
        "    open(pids, 'a').write(f'{os.getpid()}\\n')\n"
    )
    served = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {chain!r}]); "
    served += f"sys.argv = ['x', '--port', '{port}']; exec(open({str(RUDE_SERVER)!r}).read())"
    server = ServerCommand(argv=(sys.executable, "-c", served), env={}, model_path="our-model")
    with ddbench_lending(server, port, tmp_path / "server.log") as (ddbench, server_pid):
        wait_for_pids(tmp_path / "pids", 1, at_least=True)
        ddbench.kill()

    assert gone_within(5.0, server_pid)
    last = (tmp_path / "pids").read_text()
    time.sleep(0.5)
    assert (tmp_path / "pids").read_text() == last, "they go on"


def test_the_guard_of_a_server_takes_it_along(run, rude_server):
    with run(rude_server(), grace_s=0.5) as server:
        guard = psutil.Process(server.pid).parent()
        assert guard is not None
        assert guard.parent() == psutil.Process()
        guard.terminate()  # which it does not listen to
        time.sleep(0.2)
        assert is_alive(server)

        guard.kill()

        assert gone_within(5.0, server.pid)
        assert not is_alive(server)


def test_the_server_sees_the_variables_of_its_command(run):
    code = "import os; print('seen:', os.environ['DDBENCH_TEST']); raise SystemExit(1)"
    command = ServerCommand(
        argv=(sys.executable, "-c", code), env={"DDBENCH_TEST": "yes"}, model_path="m"
    )

    with pytest.raises(ServerExitedEarly, match="seen: yes"):
        with run(command):
            pytest.fail("the body must not run")


def test_an_attached_server_is_lent_and_left_alone(rude_server, port):
    with subprocess.Popen(rude_server().argv) as process:
        with attached_server(f"http://127.0.0.1:{port}") as server:
            assert server.pid is None
            assert is_alive(server)

        assert process.poll() is None
        process.terminate()


def test_a_log_that_was_rotated_is_freed_of_secrets_too(run, rude_server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "correct-horse-battery")
    rotated = tmp_path / "server.log.1"

    with run(rude_server("--talk")) as server:
        requests.get(f"{server.base_url}/correct-horse-battery", timeout=30)
        (tmp_path / "server.log").rename(rotated)

    assert "asked for /" in rotated.read_text()
    assert "correct-horse-battery" not in rotated.read_text()
