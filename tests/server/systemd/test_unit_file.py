"""A unit that `serve --print-unit` prints is one that systemd runs."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import requests

from ddbench.records import ServerCommand
from ddbench.server.systemd.unit_file import unit_file
from ddbench.server.systemd.unit_state import read_unit_state

UNIT = "printed.service"
ODD = ("$HOME", "%h", "a b", 'quo"te', "back\\slash", "two\nlines", ";")


@pytest.fixture
def install(user_manager, systemctl):
    assert user_manager is None
    path = Path("/run/user/0/systemd/user") / UNIT

    def install(text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        systemctl("daemon-reload")
        return path

    yield install
    systemctl("stop", UNIT)
    path.unlink(missing_ok=True)
    systemctl("daemon-reload")


def test_systemd_runs_it_with_every_word_and_variable_as_it_was(install, systemctl, wait_until):
    code = "import time; time.sleep(600)"
    command = ServerCommand((sys.executable, "-c", code, *ODD), {"ODD": "5% $x 'y'"}, "m")
    options = {"memory_max": "300M", "cpu_affinity": "0", "slice": "bench.slice"}

    path = install(unit_file(command, options, description="50% of it"))
    systemctl("start", UNIT)

    process = psutil.Process(wait_until(lambda: read_unit_state("user", UNIT).main_pid))
    assert process.cmdline() == [sys.executable, "-c", code, *ODD]
    assert process.environ()["ODD"] == "5% $x 'y'"
    assert process.cpu_affinity() == [0]
    assert "/bench.slice/" in read_unit_state("user", UNIT).control_group
    assert "Description=50% of it" in systemctl("show", UNIT)
    verified = subprocess.run(
        ["systemd-analyze", "--user", "verify", path], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")


def test_serve_prints_the_unit_of_an_arm_that_then_answers(
    install, systemctl, ddbench, write_sweep, port, wait_until
):
    sweep = write_sweep(
        arms="\n  - linear: {block_size: 8}",
        server=f"  port: {port}\n  launcher: {{systemd: {{timeout_stop_s: 7}}}}\n",
    )

    done = ddbench("serve", sweep, "--arm", "linear-8", "--print-unit")
    assert done.returncode == 0, done.stderr
    install(done.stdout)
    systemctl("start", UNIT)

    def said():
        try:
            return requests.get(f"http://127.0.0.1:{port}/server_info", timeout=30).json()
        except requests.RequestException:
            return None

    assert wait_until(said, within_s=60.0)["speculative_algorithm"] == "DFLASH"
    assert "TimeoutStopUSec=7s" in systemctl("show", UNIT)


def test_a_unit_without_a_port_of_its_own_gets_sglang_s(ddbench, write_sweep):
    done = ddbench("serve", write_sweep(), "--arm", "autoregressive", "--print-unit")

    assert "--port 30000" in done.stdout
    assert "WantedBy=default.target" in done.stdout


def test_a_unit_of_the_system_manager_goes_to_its_own_place(ddbench, write_sweep):
    sweep = write_sweep(server="  launcher: {systemd: {scope: system}}\n")

    done = ddbench("serve", sweep, "--arm", "autoregressive", "--print-unit")

    assert "/etc/systemd/system/NAME.service" in done.stdout
    assert "WantedBy=multi-user.target" in done.stdout
