"""Every test starts a real unit of a real user manager, and checks that none is left."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import requests

from ddbench.errors import (
    PortInUse,
    ServerError,
    ServerExitedEarly,
    ServerNotReady,
    UnitEnded,
)
from ddbench.records import ServerCommand
from ddbench.server.crash import classify
from ddbench.server.running import is_alive
from ddbench.server.systemd.cgroup import members
from ddbench.server.systemd.transient import transient_server
from ddbench.server.systemd.undo import stop_leftover_units
from ddbench.server.systemd.unit_state import read_unit_state
from ddbench.server.systemd.why import why_ended

pytestmark = pytest.mark.usefixtures("no_units")


@pytest.fixture
def run(port, run_folder):
    """transient_server on a free port, with short waits; keywords become its options."""

    def started(command, *, ready_timeout_s=30.0, **options):
        return transient_server(
            command,
            {"timeout_stop_s": "5", **options},
            host="127.0.0.1",
            port=port,
            log_path=run_folder / "server.log",
            run_folder=run_folder,
            expected_model="our-model",
            ready_timeout_s=ready_timeout_s,
        )

    return started


def python(code: str, **env: str) -> ServerCommand:
    return ServerCommand(argv=(sys.executable, "-c", code), env=env, model_path="our-model")


def test_lends_a_ready_server_and_leaves_no_unit(run, rude_server, our_units):
    with run(rude_server()) as server:
        assert requests.get(f"{server.base_url}/health_generate", timeout=30).ok
        assert is_alive(server)
        assert psutil.Process(server.pid).cmdline()[1].endswith("rude_server.py")
        assert server.unit in our_units()

    assert not is_alive(server)


def test_the_unit_is_collected_and_ends_as_a_group(run, rude_server, systemctl):
    with run(rude_server()) as server:
        shown = systemctl("show", server.unit)

    assert "CollectMode=inactive-or-failed" in shown
    assert "KillMode=control-group" in shown
    assert "TimeoutStopUSec=5s" in shown


def test_each_server_of_a_run_has_a_name_of_its_own(run, rude_server):
    with run(rude_server()) as first:
        pass
    with run(rude_server()) as second:
        pass

    assert first.unit != second.unit


def test_the_environment_reaches_the_server_and_shows_nowhere(
    run, rude_server, systemctl, monkeypatch, run_folder
):
    monkeypatch.setenv("HF_TOKEN", "hf_averysecrettoken1234")
    monkeypatch.setenv("MANY_LINES", 'one\ntwo "$HOME" %h')
    with run(rude_server(env={"OF_THE_ARM": "yes"})) as server:
        shown = systemctl("show", server.unit) + systemctl("status", server.unit)
        seen = psutil.Process(server.pid).environ()

    assert seen["HF_TOKEN"] == "hf_averysecrettoken1234"
    assert seen["MANY_LINES"] == 'one\ntwo "$HOME" %h'
    assert seen["OF_THE_ARM"] == "yes"
    assert "hf_averysecret" not in shown
    assert not list(Path("/run/user/0/ddbench").glob("*/environment.json"))
    assert "hf_averysecret" not in (run_folder / "units.jsonl").read_text()


def test_words_of_the_command_arrive_as_they_are(run, run_folder):
    odd = ["$HOME", "${HOME}", "$$", "%h", "a b", 'quo"te', "back\\slash", "new\nline", "ü", ";"]
    code = "import json, sys; print(json.dumps(sys.argv[1:])); sys.exit(4)"
    command = ServerCommand(argv=(sys.executable, "-c", code, *odd), env={}, model_path="m")

    with pytest.raises(ServerExitedEarly):
        with run(command):
            pytest.fail("the body must not run")

    assert json.loads((run_folder / "server.log").read_text()) == odd


def test_limits_are_in_effect(run, rude_server, systemctl):
    with run(rude_server(), memory_max="200M", cpu_affinity="0", slice="bench.slice") as server:
        group = read_unit_state("user", server.unit).control_group
        shown = systemctl("show", server.unit, "--property=MemoryMax")
        allowed = psutil.Process(server.pid).cpu_affinity()

    assert "/bench.slice/" in group
    assert shown.strip() == f"MemoryMax={200 << 20}"
    assert allowed == [0]


def test_the_log_goes_to_the_file_and_to_the_journal(run, rude_server, wait_until):
    with run(rude_server("--talk")) as server:
        for number in range(100):
            requests.get(f"{server.base_url}/{number}", timeout=30)
        of_unit = ["journalctl", "--quiet", "--output=cat", f"_SYSTEMD_USER_UNIT={server.unit}"]
        log = server.log_path.read_text()
        wait_until(lambda: subprocess.check_output(of_unit, text=True) == log)

    assert "asked for /99\n" in log


def test_a_line_is_in_the_file_before_the_answer_it_is_about(run, port):
    """Windows of a log are cut by the size of the file when an answer has arrived."""
    code = f"""
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        print("asked for", self.path, flush=True)
        body = json.dumps({{"model_path": "our-model"}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
HTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"""
    with run(python(code)) as server:
        for number in range(50):
            assert requests.get(f"{server.base_url}/{number}", timeout=30).ok
            assert f"asked for /{number}\n" in server.log_path.read_text()


def test_a_server_and_a_worker_that_ignore_sigterm_are_killed(run, rude_server, run_folder):
    pids = run_folder / "pids"
    command = rude_server("--ignore-sigterm", "--fork-orphan", "--pid-file", str(pids))
    with run(command, timeout_stop_s="1") as server:
        worker = int(pids.read_text())
        group = read_unit_state("user", server.unit).control_group
        assert {server.pid, worker} < set(members(group))

    assert members(group) == []
    assert not psutil.pid_exists(server.pid)
    assert not psutil.pid_exists(worker)


def test_a_worker_of_a_server_that_died_is_ended_too(run, rude_server, run_folder, wait_until):
    pids = run_folder / "pids"
    command = rude_server("--fork-session", "--pid-file", str(pids), "--die-after", "1")
    with run(command, timeout_stop_s="1") as server:
        worker = int(wait_until(lambda: pids.exists() and pids.read_text()))
        wait_until(lambda: not is_alive(server))
        wait_until(lambda: not psutil.pid_exists(worker))


def test_a_crash_at_start_shows_code_and_log(run, rude_server, run_folder):
    with pytest.raises(ServerExitedEarly, match="CUDA out of memory") as caught:
        with run(rude_server("--exit-with", "3")):
            pytest.fail("the body must not run")

    assert caught.value.exit_code == 3
    assert classify(run_folder / "server.log", caught.value).crash_class == "cuda_oom_alloc"


def test_a_sigkill_without_a_limit_is_just_a_kill(run, run_folder):
    with pytest.raises(ServerExitedEarly) as caught:
        with run(python("import os; os.kill(os.getpid(), 9)")):
            pytest.fail("the body must not run")

    assert caught.value.exit_code == -9
    assert classify(run_folder / "server.log", caught.value).crash_class == "killed"


def test_a_sigkill_with_a_limit_is_probably_out_of_memory(run, run_folder):
    with pytest.raises(UnitEnded) as caught:
        with run(python("import os; os.kill(os.getpid(), 9)"), memory_max="300M"):
            pytest.fail("the body must not run")

    failure = classify(run_folder / "server.log", caught.value)
    assert failure.crash_class == "oom_killed"
    assert "probably out of memory" in failure.evidence
    assert "Result=signal ExecMainStatus=9/KILL NRestarts=0 MemoryMax=300M" in failure.evidence


def test_a_server_killed_by_memory_max_is_out_of_memory_with_the_kernels_word(
    run, rude_server, run_folder, wait_until
):
    with run(rude_server("--grow-after", "1"), memory_max="100M") as server:
        group = read_unit_state("user", server.unit).control_group
        wait_until(lambda: not is_alive(server))
        error = wait_until(lambda: why_ended("user", server.unit, server.log_path))

    failure = classify(run_folder / "server.log", error)
    assert failure.crash_class == "oom_killed"
    assert "out-of-memory killer ended 1 process" in failure.evidence
    assert members(group) == []


def test_an_error_in_the_log_explains_a_sigkill_better_than_a_limit(run, run_folder):
    """SGLang kills itself with SIGKILL after any error of a worker."""
    code = "import os; print('CUDA out of memory. Tried to allocate'); os.kill(os.getpid(), 9)"

    with pytest.raises(UnitEnded) as caught:
        with run(python(f"import sys; sys.stdout.reconfigure(line_buffering=True); {code}"),
                 memory_max="300M"):  # fmt: skip
            pytest.fail("the body must not run")

    assert classify(run_folder / "server.log", caught.value).crash_class == "cuda_oom_alloc"


def test_a_server_that_never_gets_ready_is_not_lent_and_not_left(run, rude_server):
    with pytest.raises(ServerNotReady):
        with run(rude_server("--unhealthy"), ready_timeout_s=3.0):
            pytest.fail("the body must not run")


def test_a_taken_port_is_refused_before_anything_starts(run, rude_server, run_folder, wait_until):
    with subprocess.Popen(rude_server().argv) as stranger:
        wait_until(psutil.Process(stranger.pid).net_connections)
        with pytest.raises(PortInUse):
            with run(rude_server()):
                pytest.fail("the body must not run")
        stranger.kill()

    assert not (run_folder / "units.jsonl").exists()


def test_a_program_that_does_not_exist_is_one_sentence(run):
    with pytest.raises(ServerError, match="no such program"):
        with run(ServerCommand(argv=("/no/such/python",), env={}, model_path="m")):
            pytest.fail("the body must not run")


def test_ctrl_c_in_the_body_and_again_in_the_grace_leaves_nothing(run, rude_server):
    started_at = time.monotonic()
    previous = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            with run(rude_server("--ignore-sigterm"), timeout_stop_s="60") as server:
                signal.setitimer(signal.ITIMER_REAL, 1.0)
                raise KeyboardInterrupt
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)

    assert not psutil.pid_exists(server.pid)
    assert time.monotonic() - started_at < 30.0


@pytest.fixture
def lending_process(rude_server, port, run_folder):
    """Starts another process that lends a server; gives it, the server's pid and the unit."""

    def start(*manners):
        code = f"""
import time
from pathlib import Path
from ddbench.records import ServerCommand
from ddbench.server.systemd.transient import transient_server
folder = Path({str(run_folder)!r})
command = ServerCommand(argv={rude_server(*manners).argv!r}, env={{}}, model_path="our-model")
with transient_server(
    command, {{}}, host="127.0.0.1", port={port}, log_path=folder / "server.log",
    run_folder=folder, expected_model="our-model", ready_timeout_s=30,
) as server:
    print(server.pid, server.unit, flush=True)
    time.sleep(600)
"""
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        pid, unit = process.stdout.readline().split()
        return process, int(pid), unit

    return start


def test_kill_9_of_ddbench_ends_the_unit_within_five_seconds(
    lending_process, run_folder, our_units, wait_until
):
    pids = run_folder / "pids"
    process, pid, unit = lending_process(
        "--ignore-sigterm", "--fork-orphan", "--pid-file", str(pids)
    )
    worker = int(pids.read_text())
    assert unit in our_units()

    process.kill()
    process.communicate()

    wait_until(
        lambda: not our_units() and not psutil.pid_exists(pid) and not psutil.pid_exists(worker),
        within_s=20.0,
    )
    assert "ddbench is gone" in (run_folder / "server.log").read_text()
    assert stop_leftover_units(run_folder) == []  # and removes the unit's folder


def test_what_even_the_keeper_could_not_end_is_ended_at_resume(
    lending_process, run_folder, our_units
):
    process, pid, unit = lending_process("--ignore-sigterm")
    keeper = psutil.Process(pid).ppid()
    os.kill(keeper, signal.SIGSTOP)

    process.kill()
    process.communicate()
    time.sleep(1.0)
    assert psutil.pid_exists(pid)
    assert unit in our_units()
    done = stop_leftover_units(run_folder)

    assert done == [f"stopped {unit}"]
    assert not psutil.pid_exists(pid)
    assert stop_leftover_units(run_folder) == []
