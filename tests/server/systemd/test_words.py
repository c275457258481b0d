"""What systemd says and what it is told, without a manager: anywhere, also where none runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from ddbench.errors import ServerError, ServerExitedEarly, UnitEnded
from ddbench.records import ServerConfig, Speculation
from ddbench.server.crash import classify
from ddbench.server.launchers import require_launcher
from ddbench.server.systemd import keeper
from ddbench.server.systemd.cgroup import members
from ddbench.server.systemd.last_words import last_words, recording_command
from ddbench.server.systemd.limits import has_memory_limit
from ddbench.server.systemd.unit_state import UnitState, parse_unit_state
from ddbench.server.systemd.verdict import verdict

RUNNING = {"LoadState": "loaded", "ActiveState": "active", "SubState": "running", "MainPID": "7"}
FAILED = {
    "LoadState": "loaded",
    "ActiveState": "failed",
    "SubState": "failed",
    "MainPID": "0",
    "NRestarts": "0",
}
KILLED = FAILED | {"Result": "signal", "ExecMainCode": "2", "ExecMainStatus": "9"}


@pytest.fixture
def failure(tmp_path):
    """How a unit's end is classified, with `log` as its server's log."""

    def classed(shown, log=""):
        path = tmp_path / "server.log"
        path.write_text(log)
        error = verdict("x.service", parse_unit_state(shown), path)
        return classify(path, error)

    return classed


def test_a_running_unit_has_no_verdict(tmp_path):
    for shown in (
        RUNNING,
        RUNNING | {"ActiveState": "activating", "SubState": "start-pre"},
        RUNNING | {"ActiveState": "activating", "SubState": "auto-restart", "NRestarts": "2"},
        RUNNING | {"ActiveState": "inactive", "SubState": "dead", "Job": "88"},
    ):
        assert verdict("x.service", parse_unit_state(shown), tmp_path / "log") is None


def test_a_unit_that_is_being_ended_has_one(tmp_path):
    shown = FAILED | {"ActiveState": "deactivating", "SubState": "stop-sigterm", "Result": "signal",
                      "ExecMainCode": "2", "ExecMainStatus": "11", "Job": "88"}  # fmt: skip

    error = verdict("x.service", parse_unit_state(shown), tmp_path / "log")

    assert isinstance(error, ServerExitedEarly)
    assert error.exit_code == -11


@pytest.mark.parametrize(
    ("changes", "crash_class"),
    [
        ({"Result": "oom-kill", "ExecMainCode": "2", "ExecMainStatus": "9"}, "oom_killed"),
        ({"Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "1", "NRestarts": "3"},
         "crash_loop"),
        ({"Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "1", "NRestarts": "1"},
         "crash_loop"),
        ({"Result": "start-limit-hit"}, "crash_loop"),
        ({"Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "203"},
         "unit_not_executed"),
        ({"Result": "watchdog", "ExecMainCode": "2", "ExecMainStatus": "6"}, "unit_watchdog"),
        ({"Result": "timeout", "ExecMainCode": "2", "ExecMainStatus": "15"}, "unit_timeout"),
        ({"Result": "resources"}, "unit_resources"),
        ({"Result": "signal", "ExecMainCode": "2", "ExecMainStatus": "9"}, "killed"),
        ({"Result": "core-dump", "ExecMainCode": "3", "ExecMainStatus": "11"}, "native_crash"),
        ({"Result": "exit-code", "ExecMainCode": "1", "ExecMainStatus": "1"}, "unknown"),
    ],
)  # fmt: skip
def test_each_result_has_its_class(failure, changes, crash_class):
    assert failure(FAILED | changes).crash_class == crash_class


def test_a_sigkill_under_a_memory_limit_shows_what_that_rests_on(failure):
    said = failure(KILLED | {"MemoryMax": "62914560"})

    assert said.crash_class == "oom_killed"
    assert said.evidence == (
        "probably out of memory: a SIGKILL not sent by ddbench: ActiveState=failed "
        "SubState=failed Result=signal ExecMainStatus=9/KILL NRestarts=0 MemoryMax=62914560"
    )


def test_the_log_explains_a_probable_cause_better_but_not_a_certain_one(failure):
    log = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.\n"

    probable = failure(KILLED | {"MemoryMax": "62914560"}, log)
    certain = failure(KILLED | {"Result": "oom-kill"}, log)

    assert probable.crash_class == "cuda_oom_alloc"
    assert certain.crash_class == "oom_killed"
    assert "CUDA out of memory" in certain.evidence


def test_what_every_failure_prints_does_not_hide_a_probable_cause(failure):
    log = "Received sigquit from a child process. It usually means the child failed.\n"

    assert failure(KILLED | {"MemoryMax": "62914560"}, log).crash_class == "oom_killed"


def test_no_memory_limit_is_none():
    assert parse_unit_state(RUNNING | {"MemoryMax": "infinity"}).memory_max is None
    assert parse_unit_state(RUNNING).main_pid == 7
    assert parse_unit_state({"LoadState": "not-found"}).is_loaded is False


@pytest.mark.parametrize(
    ("variables", "exit_code", "state"),
    [
        ({"SERVICE_RESULT": "success", "EXIT_CODE": "exited", "EXIT_STATUS": "0"}, 0, "inactive"),
        ({"SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "3"}, 3, "failed"),
        ({"SERVICE_RESULT": "signal", "EXIT_CODE": "killed", "EXIT_STATUS": "KILL"}, -9, "failed"),
        ({"SERVICE_RESULT": "core-dump", "EXIT_CODE": "dumped", "EXIT_STATUS": "SEGV"}, -11,
         "failed"),
        ({"SERVICE_RESULT": "resources"}, None, "failed"),
    ],
)  # fmt: skip
def test_a_unit_s_note_about_its_end_is_read_back(tmp_path, variables, exit_code, state):
    assert last_words(tmp_path) is None

    subprocess.run(recording_command(tmp_path, "64M"), env=variables, check=True)

    assert last_words(tmp_path) == UnitState(
        is_loaded=False,
        active_state=state,
        sub_state="dead" if state == "inactive" else "failed",
        result=variables["SERVICE_RESULT"],
        exit_code=exit_code,
        restarts=0,
        memory_max="64M",
    )


def test_members_are_found_in_a_group_and_below_it(tmp_path):
    for folder, pids in (("a.slice/x.service", "11\n12\n"), ("a.slice/x.service/sub", "13\n")):
        (tmp_path / "systemd" / folder).mkdir(parents=True)
        (tmp_path / "systemd" / folder / "cgroup.procs").write_text(pids)

    assert members("/a.slice/x.service", tmp_path) == [11, 12, 13]
    assert members("/a.slice/y.service", tmp_path) == []


@pytest.mark.parametrize("nothing", ["", "/"])
def test_no_group_is_never_the_whole_machine(nothing):
    assert members(nothing) == []


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("memory/x/memory.limit_in_bytes", "62914560\n", True),
        ("memory/x/memory.limit_in_bytes", "9223372036854771712\n", False),
        ("x/memory.max", "62914560\n", True),
        ("x/memory.max", "max\n", False),
        ("x/cgroup.procs", "", False),
    ],
)
def test_a_memory_limit_holds_when_the_kernel_says_so(tmp_path, file, text, expected):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text)

    assert has_memory_limit("x", tmp_path) is expected


def test_the_keeper_needs_nothing_but_the_standard_library():
    """It runs with the server's interpreter, which may be older and lack ddbench."""
    code = f"import runpy; runpy.run_path({keeper.__file__!r}, run_name='not main')"

    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)


def test_the_keeper_ends_as_its_server_did(tmp_path):
    log = tmp_path / "log"
    keep = [sys.executable, "-I", "-S", keeper.__file__, sys.executable, "-c"]
    ended = {}
    for end in ("raise SystemExit(7)", "import os; os.kill(os.getpid(), 9)", "print('hello')"):
        with log.open("ab") as stderr:
            done = subprocess.run(
                [*keep, end], stdout=subprocess.PIPE, stderr=stderr, check=False, text=True
            )
        ended[end] = done.returncode

    assert list(ended.values()) == [7, -9, 0]
    assert done.stdout == log.read_text() == "hello\n"


def test_the_keeper_of_a_program_that_does_not_exist_says_so(tmp_path):
    log = tmp_path / "log"
    with log.open("ab") as stderr:
        done = subprocess.run(
            [sys.executable, "-I", "-S", keeper.__file__, "/no/such"], stderr=stderr, check=False
        )

    assert done.returncode == keeper.COMMAND_NOT_FOUND
    assert log.read_text() == "ddbench: cannot run /no/such: No such file or directory\n"


@pytest.mark.parametrize("unit", ["", "init.scope", "ddbench-0000000000-1.service"])
def test_a_keeper_outside_of_its_unit_knows_of_no_other_process(unit):
    """Its control group is then one that it shares with strangers: here, with these tests."""
    assert keeper.unit_members(unit) == []


@pytest.mark.parametrize("launcher", ["systemd", "systemd-unit"])
def test_a_machine_without_systemd_is_told_of_the_plain_launcher(launcher, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    config = ServerConfig(
        engine="embedded",
        model="builtin",
        draft_model=None,
        speculation=Speculation(),
        max_running_requests=1,
        launcher=launcher,
        launcher_options=(("name", "x.service"),),
    )

    with pytest.raises(ServerError, match="no systemctl") as caught:
        require_launcher(config)

    assert "launcher: subprocess" in caught.value.remedy


def test_a_crash_loop_is_certain():
    state = parse_unit_state(FAILED | {"NRestarts": "5", "Result": "exit-code"})

    error = verdict("x.service", state, Path("no log"))

    assert isinstance(error, UnitEnded)
    assert error.certain
