"""An administrator's unit, driven through its drop-in, on a real user manager."""

import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest
import requests

from ddbench.errors import ServerError, ServerExitedEarly, UnitEnded
from ddbench.records import ServerCommand, ServerConfig, Speculation
from ddbench.server.crash import classify
from ddbench.server.launchers import lend_server, require_launcher, units_restored, why_ended
from ddbench.server.ports import free_port
from ddbench.server.running import is_alive
from ddbench.server.systemd.undo import UnitsFile, stop_leftover_units
from ddbench.server.systemd.unit_state import read_unit_state

pytestmark = pytest.mark.usefixtures("no_units")

UNIT = "sglang-ddtree.service"
RUDE_SERVER = Path(__file__).parents[1] / "rude_server.py"


@pytest.fixture
def own_port():
    """Where the administrator's server listens."""
    return free_port("127.0.0.1")


@pytest.fixture
def write_unit(user_manager, systemctl, own_port):
    """Writes the administrator's unit; `service` adds lines to it."""
    assert user_manager is None
    path = Path("/run/user/0/systemd/user") / UNIT

    def write(service: str = "", command: str | None = None) -> Path:
        own = f"{sys.executable} {RUDE_SERVER} --port {own_port} --model-path theirs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"[Service]\nExecStart={command or own}\nEnvironment=OF_THE_ADMIN=yes\n"
            f"TimeoutStopSec=5\n{textwrap.dedent(service)}\n"
        )
        systemctl("daemon-reload")
        return path

    yield write
    systemctl("stop", UNIT)
    systemctl("reset-failed", UNIT)
    path.unlink(missing_ok=True)
    systemctl("daemon-reload")


@pytest.fixture
def config():
    def make(allow: str | None = "restart", port: int | None = None, **changes) -> ServerConfig:
        options = (("allow", allow),) if allow else ()
        settings = {"ready_timeout_s": 20.0} | changes
        return ServerConfig(
            engine="sglang",
            model="our-model",
            draft_model=None,
            speculation=Speculation(),
            max_running_requests=8,
            launcher="systemd-unit",
            launcher_options=(*options, ("name", UNIT)),
            port=port,
            **settings,
        )

    return make


@pytest.fixture
def lend(port, run_folder, config):
    """lend_server with the administrator's unit; each launch has a log of its own."""
    logs = iter(run_folder / f"server-{number}.log" for number in range(100))

    def lent(command, settings=None):
        return lend_server(
            command, settings or config(), port=port, log_path=next(logs), run_folder=run_folder
        )

    return lent


@pytest.fixture
def answers(own_port):
    """Whether the administrator's own server answers."""

    def ask() -> bool:
        try:
            said = requests.get(f"http://127.0.0.1:{own_port}/server_info", timeout=30).json()
        except requests.RequestException:
            return False
        return said == {"model_path": "theirs"}

    return ask


def test_a_running_unit_is_lent_with_our_flags_and_runs_as_before_at_the_end(
    write_unit, lend, rude_server, systemctl, run_folder, answers, wait_until
):
    unit = write_unit()
    before = unit.read_bytes()
    systemctl("start", UNIT)
    wait_until(answers)

    with units_restored(run_folder):
        with lend(rude_server("--talk", env={"OF_THE_ARM": "50% $x"})) as server:
            ran = psutil.Process(server.pid)
            assert "--talk" in ran.cmdline()
            assert ran.environ()["OF_THE_ADMIN"] == "yes"
            assert ran.environ()["OF_THE_ARM"] == "50% $x"
            assert not answers()
        assert read_unit_state("user", UNIT).active_state == "inactive"

    wait_until(answers)
    assert unit.read_bytes() == before
    assert "ddbench" not in systemctl("cat", UNIT)


def test_a_stopped_unit_is_stopped_at_the_end(write_unit, lend, rude_server, run_folder, config):
    write_unit()

    with units_restored(run_folder), lend(rude_server(), config(allow="start")) as server:
        assert is_alive(server)

    assert read_unit_state("user", UNIT).active_state == "inactive"


def test_several_launches_of_a_run_restore_the_first_state(
    write_unit, lend, rude_server, systemctl, run_folder, answers, wait_until
):
    write_unit()
    systemctl("start", UNIT)

    with units_restored(run_folder):
        for _ in range(2):
            with lend(rude_server()) as server:
                assert is_alive(server)

    wait_until(answers)


def test_the_body_s_exception_passes_through_and_the_unit_is_restored(
    write_unit, lend, rude_server, systemctl, run_folder, answers, wait_until
):
    write_unit()
    systemctl("start", UNIT)

    with pytest.raises(KeyboardInterrupt):
        with units_restored(run_folder), lend(rude_server()):
            raise KeyboardInterrupt

    wait_until(answers)


def test_the_log_has_the_server_s_lines_and_so_has_the_unit_s_journal(
    write_unit, lend, rude_server, run_folder, wait_until
):
    write_unit()
    of_unit = ["journalctl", "--quiet", "--output=cat", f"_SYSTEMD_USER_UNIT={UNIT}"]

    with units_restored(run_folder), lend(rude_server("--talk")) as server:
        requests.get(f"{server.base_url}/{run_folder.name}", timeout=30)
        log = server.log_path.read_text()
        wait_until(lambda: log in subprocess.check_output(of_unit, text=True))

    assert "asked for /health_generate\n" in log


def test_a_server_that_ends_at_once_has_a_code_and_a_log(write_unit, lend, run_folder):
    write_unit()
    code = "print('a line'); raise SystemExit(4)"
    command = ServerCommand(argv=(sys.executable, "-c", code), env={}, model_path="our-model")

    with pytest.raises(ServerExitedEarly) as caught:
        with units_restored(run_folder), lend(command):
            pytest.fail("the body must not run")

    assert caught.value.exit_code == 4
    assert caught.value.log_path.read_text() == "a line\n"


def test_a_crash_loop_is_one_and_its_log_says_why(write_unit, lend, rude_server, run_folder):
    write_unit("Restart=always\nRestartSec=0.2\n")

    with pytest.raises(UnitEnded, match="again and again") as caught:
        with units_restored(run_folder), lend(rude_server("--exit-with", "3")):
            pytest.fail("the body must not run")

    failure = classify(run_folder / "server-0.log", caught.value)
    assert failure.crash_class == "crash_loop"
    assert "NRestarts=" in failure.evidence
    assert "CUDA out of memory" in failure.evidence


def test_a_unit_that_systemd_gives_up_on_is_a_crash_loop(write_unit, lend, rude_server, run_folder):
    write_unit("Restart=always\nRestartSec=0\n[Unit]\nStartLimitBurst=2\n")

    with pytest.raises(UnitEnded) as caught:
        with units_restored(run_folder), lend(rude_server("--exit-with", "3")):
            pytest.fail("the body must not run")

    assert caught.value.crash_class == "crash_loop"
    assert read_unit_state("user", UNIT).active_state == "inactive"


def test_a_server_that_systemd_starts_again_in_mid_trial_is_not_the_one_that_was_lent(
    write_unit, lend, rude_server, run_folder, wait_until, config
):
    write_unit("Restart=always\nRestartSec=0.1\n")

    with units_restored(run_folder), lend(rude_server("--die-after", "1")) as server:
        wait_until(lambda: not is_alive(server))
        error = wait_until(lambda: why_ended(server, config()))

    assert isinstance(error, UnitEnded)
    assert error.crash_class == "crash_loop"


def test_a_command_that_the_unit_may_not_execute_is_named(
    write_unit, lend, rude_server, run_folder
):
    write_unit("WorkingDirectory=/no/such/folder\n")

    with pytest.raises(UnitEnded, match="could not run it") as caught:
        with units_restored(run_folder), lend(rude_server()):
            pytest.fail("the body must not run")

    assert caught.value.crash_class == "unit_not_executed"


def test_our_drop_in_wins_over_the_administrator_s(write_unit, lend, rude_server, run_folder):
    unit = write_unit()
    theirs = unit.with_name(f"{UNIT}.d") / "zz-override.conf"
    theirs.parent.mkdir()
    theirs.write_text("[Service]\nExecStart=\nExecStart=/bin/false\n")

    with units_restored(run_folder), lend(rude_server()) as server:
        assert is_alive(server)

    assert theirs.exists()
    theirs.unlink()
    theirs.parent.rmdir()


def test_a_drop_in_that_overrides_ours_is_an_error(write_unit, lend, rude_server, run_folder):
    unit = write_unit()
    theirs = unit.with_name(f"{UNIT}.d") / "zzzzz.conf"
    theirs.parent.mkdir()
    theirs.write_text("[Service]\nExecStart=\nExecStart=/bin/false\n")

    with pytest.raises(ServerError, match="overrides ExecStart= after ours"):
        with units_restored(run_folder), lend(rude_server()):
            pytest.fail("the body must not run")

    theirs.unlink()
    theirs.parent.rmdir()


def test_kill_9_and_resume_restore_the_unit(
    write_unit, rude_server, port, systemctl, run_folder, answers, wait_until
):
    write_unit()
    systemctl("start", UNIT)
    code = f"""
import time
from pathlib import Path
from ddbench.records import ServerCommand
from ddbench.server.systemd.existing import driven_unit
folder = Path({str(run_folder)!r})
command = ServerCommand(argv={rude_server().argv!r}, env={{}}, model_path="our-model")
with driven_unit(
    command, scope="user", unit={UNIT!r}, host="127.0.0.1", port={port},
    log_path=folder / "server.log", run_folder=folder, expected_model="our-model",
    ready_timeout_s=30,
) as server:
    print(server.pid, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        process.kill()

    done = stop_leftover_units(run_folder)

    assert done == [f"removed the drop-in of {UNIT}", f"started {UNIT} again"]
    assert not psutil.pid_exists(pid)
    wait_until(answers)
    assert stop_leftover_units(run_folder) == []


def test_a_kill_between_the_stop_and_the_drop_in_is_undone_too(
    write_unit, systemctl, run_folder, answers, wait_until
):
    write_unit()
    systemctl("start", UNIT)
    UnitsFile(run_folder).will_change("user", UNIT)
    systemctl("stop", UNIT)

    done = stop_leftover_units(run_folder)

    assert done == [f"started {UNIT} again"]
    wait_until(answers)


def test_what_another_boot_did_is_not_undone(write_unit, run_folder):
    write_unit()
    units = UnitsFile(run_folder)
    units.will_change("user", UNIT)
    file = run_folder / "units.jsonl"
    active = file.read_text().replace('"was_active": false', '"was_active": true')
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    file.write_text(active.replace(boot, "another-boot"))

    assert stop_leftover_units(run_folder) == []
    assert read_unit_state("user", UNIT).active_state == "inactive"


def test_a_running_unit_is_measured_as_it_is_when_nothing_is_allowed(
    write_unit, lend, config, systemctl, port, run_folder
):
    command = (sys.executable, str(RUDE_SERVER), "--port", str(port), "--model-path=our-model")
    write_unit(command=" ".join(command))
    systemctl("start", UNIT)
    pid = read_unit_state("user", UNIT).main_pid

    with lend(ServerCommand(command, {}, "our-model"), config(allow=None, port=port)) as server:
        assert server.pid == pid
        requests.get(f"{server.base_url}/say/hello", timeout=30)

    assert read_unit_state("user", UNIT).main_pid == pid
    assert not (run_folder / "units.jsonl").exists()


def test_lines_of_a_measured_unit_get_into_our_log(
    write_unit, lend, config, systemctl, port, wait_until
):
    command = (sys.executable, str(RUDE_SERVER), "--port", str(port), "--talk")
    write_unit(command=" ".join(command))
    systemctl("start", UNIT)

    with lend(ServerCommand(command, {}, "our-model"), config(allow=None, port=port)) as server:
        for number in range(3):
            requests.get(f"{server.base_url}/{number}", timeout=30)
        wait_until(lambda: "asked for /2\n" in server.log_path.read_text())
        assert server.log_lag_s > 0


def test_a_running_unit_with_other_flags_is_not_measured_under_our_name(
    write_unit, lend, config, rude_server, systemctl, port
):
    write_unit(command=" ".join(rude_server().argv))
    systemctl("start", UNIT)
    wanted = rude_server("--fork", "--die-after", "99")

    with pytest.raises(ServerError, match="runs without --fork --die-after 99") as caught:
        with lend(wanted, config(allow=None, port=port)):
            pytest.fail("the body must not run")

    assert "allow: restart" in caught.value.remedy


def test_a_unit_that_does_not_exist_is_refused(config):
    with pytest.raises(ServerError, match="no unit sglang-ddtree"):
        require_launcher(config())


@pytest.mark.parametrize(
    ("allow", "is_active", "expected"),
    [
        (None, False, "does not allow to start it"),
        (None, True, "on which port"),
        ("start", True, "only allows to start it"),
    ],
)
def test_what_the_sweep_file_does_not_allow_is_refused_before_anything_starts(
    write_unit, config, systemctl, allow, is_active, expected
):
    write_unit()
    if is_active:
        systemctl("start", UNIT)

    with pytest.raises(ServerError, match=expected):
        require_launcher(config(allow=allow))


def test_a_unit_that_another_run_drives_is_refused(
    write_unit, config, lend, rude_server, run_folder
):
    write_unit()

    with units_restored(run_folder), lend(rude_server()):
        with pytest.raises(ServerError, match=r"driven by another run, ddbench-[0-9a-f]+"):
            require_launcher(config())


def test_a_step_that_a_kill_cut_off_is_ignored_and_overwritten(user_manager, run_folder):
    assert user_manager is None
    units = UnitsFile(run_folder)
    units.will_start("user")
    file = run_folder / "units.jsonl"
    file.write_text(file.read_text() + '{"kind": "trans')

    second = units.will_start("user")

    assert second.endswith("-2.service")
    assert [step.unit for step in units.pending()][1:] == [second]
    assert stop_leftover_units(run_folder) == []
