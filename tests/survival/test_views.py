"""What a sweep shows: on a terminal inside tmux, in a pipe, and to another program."""

import json
import shutil
import subprocess
import sys
import time
import uuid

import pytest

COMMAND = [sys.executable, "-c", "from ddbench.cli.main import main; main()", "sweep"]
ARMS = "[{plain: {algorithm: null}}, {other: {algorithm: null, env: {OTHER: '1'}}}]"


@pytest.fixture
def tmux():
    """Runs a command in a terminal of 100 x 24; a call shows what stands on it."""
    if shutil.which("tmux") is None:
        pytest.skip("needs tmux")
    server = ["tmux", "-L", f"ddbench-test-{uuid.uuid4().hex}"]

    def start(*command):
        keep = f"{' '.join(map(str, command))}; echo ended with $?; sleep 600"
        size = ["-x", "100", "-y", "24"]
        subprocess.run([*server, "-f", "/dev/null", "new-session", "-d", *size, keep], check=True)

        def screen():
            shown = subprocess.run(
                [*server, "capture-pane", "-p"], capture_output=True, text=True, check=True
            )
            return shown.stdout

        return screen

    yield start
    subprocess.run([*server, "kill-server"], check=True)


def wait_for(screen, *texts, within_s=90.0):
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        shown = screen()
        if all(text in shown for text in texts):
            return shown
        time.sleep(0.1)
    raise AssertionError(f"never showed {texts}:\n{screen()}")


def test_a_table_fills_inside_tmux_and_is_gone_at_the_end(write_rude_sweep, tmux, tmp_path):
    sweep = write_rude_sweep(
        arms=ARMS, visits=1, repeats="2", count=4, step_s=0.1, max_new_tokens=4
    )
    script = tmp_path / "run.sh"
    words = " ".join(f"'{word}'" for word in [*COMMAND, sweep, "--out", tmp_path / "run"])
    script.write_text(f"exec {words}\n")

    screen = tmux("sh", script)
    early = wait_for(screen, "of 8 trials", "at 1", "at 2", "0/2 <", "plain", "other")
    later = wait_for(screen, "left. ", "log: ", "accept len 2.50", "123 tok/s")
    final = wait_for(screen, "ended with 0")

    assert early.count("tok/s") >= 1
    assert "Traceback" not in early + later + final
    assert "of 8 trials" not in final  # the table of results has taken its place
    assert "asked for 2" in final


def test_quiet_says_nothing_and_events_say_everything(ddbench, write_rude_sweep, tmp_path):
    sweep, events = write_rude_sweep(visits=1), tmp_path / "events.jsonl"

    done = ddbench("sweep", sweep, "--out", tmp_path / "run", "--quiet", "--events", events)

    assert done.returncode == 0
    assert done.stderr == ""
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    names = [line["event"] for line in lines if line["event"] != "progress"]
    trials = ["trial_started", "trial_ended"] * 4
    assert names == ["pass_started", "launch_started", "launch_ended", *trials, "sweep_ended"]
    assert all(line["at"].endswith("+00:00") for line in lines)
    (ended, *_) = [line for line in lines if line["event"] == "trial_ended"]
    assert (ended["arm"], ended["concurrency"], ended["repeat"]) == ("plain", 1, 0)
    assert (ended["completed"], ended["requests"], ended["tokens"]) == (4, 4, 16)
    assert ended["failure"] is None
    assert lines[-1] | {"failed": 0, "left": 0} == lines[-1]


def test_events_on_stderr_are_alone_there(ddbench, write_rude_sweep, tmp_path):
    sweep = write_rude_sweep("out-of-memory", visits=1, repeats="1", concurrency="[1]")

    done = ddbench("sweep", sweep, "--out", tmp_path / "run", "--events", "-")

    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("{")]
    failed = [json.loads(line) for line in lines if "trial_ended" in line]
    assert failed[0]["failure"]["class"] == "cuda_oom_alloc"
    assert failed[0]["failure"]["advice"]
    assert len(done.stderr.splitlines()) - len(lines) == 1  # how many failed


def test_events_that_cannot_be_written_end_the_sweep_in_one_sentence(
    ddbench, write_rude_sweep, living, tmp_path
):
    sweep, out = write_rude_sweep(visits=1, repeats="1", concurrency="[1]"), tmp_path / "run"

    full = ddbench("sweep", sweep, "--out", out, "--events", "/dev/full")
    resumed = ddbench("sweep", "--resume", out)

    assert full.returncode == 2
    assert "error: cannot write events: No space left on device" in full.stderr
    assert "Traceback" not in full.stderr
    assert living(sweep.parent / "pids") == []
    assert resumed.returncode == 0


def test_a_pipe_gets_lines(ddbench, write_rude_sweep, tmp_path):
    sweep = write_rude_sweep(visits=1, repeats="1", concurrency="[1]")

    done = ddbench("sweep", sweep, "--out", tmp_path / "run")

    assert "server ready after" in done.stderr
    assert "[1/1] plain at 1, repeat 1: 4 requests" in done.stderr
    assert "\x1b" not in done.stderr
