"""The whole line, from a sweep file to the numbers, on the embedded engine as a real process."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

FIELDS = {
    "arm", "algorithm", "block_size", "budget", "topk", "concurrency", "repeat", "prompt_id",
    "status", "completion_tokens", "output_ids", "output_logprobs", "retractions", "verify_ct",
    "correct_drafts", "committed_drafts", "histogram", "finish_reason", "ttft_s", "e2e_s",
}  # fmt: skip
ARMS = """
  - autoregressive
  - linear: {block_size: 8}
  - tree: {block_size: 8, budget: [15], topk: [4]}
  - tree: {block_size: 8, budget: [7], topk: [1]}
"""


def start_sweep(sweep: Path, out: Path, *options: object) -> subprocess.Popen[str]:
    argv = [
        "-c",
        "from ddbench.cli.main import main; main()",
        "sweep",
        str(sweep),
        "--out",
        str(out),
        *map(str, options),
    ]
    return subprocess.Popen(
        [sys.executable, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def exported(ddbench, run: Path) -> list[dict]:
    done = ddbench("export", run, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def by_arm_and_prompt(rows: list[dict]) -> dict[str, dict[str, dict]]:
    table: dict[str, dict[str, dict]] = defaultdict(dict)
    for row in rows:
        table[row["arm"]][row["prompt_id"]] = row
    return table


def wait_for_requests(out: Path, count: int, *, within_s: float = 90.0) -> None:
    """Until the run at `out` holds `count` requests of finished trials."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if (out / "run.sqlite").exists():
            with closing(sqlite3.connect(f"file:{out}/run.sqlite?mode=ro", uri=True)) as db:
                try:
                    (found,) = db.execute("SELECT count(*) FROM requests").fetchone()
                except sqlite3.OperationalError:
                    found = 0
            if found >= count:
                return
        time.sleep(0.1)
    pytest.fail(f"no {count} requests in {out} within {within_s} s")


def wait_until_answered(events: Path, concurrency: int, *, within_s: float = 90.0) -> None:
    """Until a request of the trial at this concurrency was answered, its warm-up not counted."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        is_under_way = False
        *whole, _ = events.read_text().split("\n") if events.exists() else [""]
        for line in whole:
            event = json.loads(line)
            if event["event"] == "trial_started":
                is_under_way = event["concurrency"] == concurrency
            elif is_under_way and event["event"] == "progress" and event["done"]:
                return
        time.sleep(0.05)
    pytest.fail(f"no answer at concurrency {concurrency} within {within_s} s")


def engine_of(sweep: subprocess.Popen[str]) -> psutil.Process:
    """The one server that this sweep runs at the moment."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for child in psutil.Process(sweep.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # one that was short
                if child.cmdline()[1:3] == ["-m", "ddbench.engine"]:
                    return child
        time.sleep(0.05)
    pytest.fail("the sweep started no server")


@pytest.fixture(scope="module")
def finished(ddbench, write_sweep, tmp_path_factory):
    """A sweep of four arms with logprobs, at concurrency 1 and 3."""
    out = tmp_path_factory.mktemp("run") / "run"
    sweep = write_sweep(arms=ARMS, count=10, concurrency="[1, 3]", max_new_tokens=48, logprobs=True)
    done = ddbench("sweep", sweep, "--out", out)
    assert done.returncode == 0, done.stderr
    return done, out, exported(ddbench, out)


def test_a_sweep_ends_with_a_table_and_the_run_folder(finished):
    done, out, _ = finished

    *table, last = done.stdout.splitlines()

    assert last == str(out)
    for arm in ("autoregressive", "linear-8", "tree-8-15-4", "tree-8-7-1"):
        assert sum(arm in line for line in table) == 2  # one row a concurrency


def test_the_export_has_every_field_for_every_request(finished):
    _, _, rows = finished

    assert len(rows) == 4 * 2 * 10
    assert all(row.keys() >= FIELDS for row in rows)
    assert {row["status"] for row in rows} == {"completed"}


def test_committed_drafts_and_the_histogram_account_for_every_token(finished):
    _, _, rows = finished

    drafted = [row for row in rows if row["algorithm"] and row["completion_tokens"] > 1]

    assert drafted
    for row in drafted:
        after_first = row["completion_tokens"] - 1 - row["retractions"]
        assert after_first == row["verify_ct"] + row["committed_drafts"]
        assert sum(row["histogram"]) == row["verify_ct"]


def test_every_arm_writes_the_autoregressive_text_with_its_logprobs(finished):
    _, _, rows = finished
    arms = by_arm_and_prompt(rows)

    for arm, answers in arms.items():
        for prompt_id, row in answers.items():
            plain = arms["autoregressive"][prompt_id]
            assert row["output_ids"] == plain["output_ids"], (arm, prompt_id)
            assert row["output_logprobs"] == pytest.approx(plain["output_logprobs"], abs=1e-4)


def test_a_chain_shaped_tree_takes_the_verify_steps_of_the_line(finished):
    _, _, rows = finished
    arms = by_arm_and_prompt([row for row in rows if row["concurrency"] == 1])

    linear = {p: row["verify_ct"] for p, row in arms["linear-8"].items()}
    chain = {p: row["verify_ct"] for p, row in arms["tree-8-7-1"].items()}

    assert chain == linear
    assert sum(linear.values()) < sum(
        row["completion_tokens"] - 1 for row in arms["linear-8"].values()
    )


def test_the_database_is_sound(finished):
    _, out, _ = finished

    with closing(sqlite3.connect(out / "run.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("fault", ["mask-dropped", "kv-not-moved"])
def test_a_broken_engine_does_not_pass_for_the_autoregressive_one(
    ddbench, write_sweep, tmp_path, finished, fault
):
    """The control of the comparison above: it must be able to fail."""
    _, _, healthy = finished
    plain = by_arm_and_prompt(healthy)["autoregressive"]
    arms = f"[{{tree: {{block_size: 8, budget: 15, topk: 4, flags: {{fault: {fault}}}}}}}]"
    sweep = write_sweep(arms=arms, count=10, max_new_tokens=48, logprobs=True)
    assert ddbench("sweep", sweep, "--out", tmp_path / "run").returncode == 0

    rows = exported(ddbench, tmp_path / "run")

    assert any(
        row["output_ids"] != plain[row["prompt_id"]]["output_ids"]
        or row["output_logprobs"]
        != pytest.approx(plain[row["prompt_id"]]["output_logprobs"], abs=1e-4)
        for row in rows
    )


def test_a_server_that_dies_fails_its_trial_and_the_sweep_goes_on(ddbench, write_sweep, tmp_path):
    out = tmp_path / "run"
    sweep = write_sweep(
        arms="[autoregressive, {linear: {block_size: 8}}]", count=80, concurrency="[8, 1]"
    )
    running = start_sweep(sweep, out, "--events", tmp_path / "events")
    wait_until_answered(tmp_path / "events", 1)  # the second trial, which takes some seconds

    engine_of(running).kill()
    stdout, stderr = running.communicate(timeout=240)

    rows = exported(ddbench, out)
    assert running.returncode == 1, stderr
    assert stdout.splitlines()[-1] == str(out)
    with closing(sqlite3.connect(out / "run.sqlite")) as db:
        failed = "SELECT arm, concurrency FROM trials WHERE failure NOT NULL"
        assert db.execute(failed).fetchall() == [("autoregressive", 1)]
    assert {row["arm"] for row in rows} == {"autoregressive", "linear-8"}


def test_ctrl_c_stops_the_server_and_keeps_what_was_measured(ddbench, write_sweep, tmp_path):
    out = tmp_path / "run"
    sweep = write_sweep(count=40, concurrency="[1, 2]", repeats=4)
    running = start_sweep(sweep, out)
    wait_for_requests(out, 40)
    engine = engine_of(running)

    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=30)

    assert running.returncode == 130
    assert "Traceback" not in stderr
    assert not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE
    assert len(exported(ddbench, out)) >= 40


def test_kill_9_of_the_sweep_leaves_no_server(write_sweep, tmp_path):
    running = start_sweep(write_sweep(count=40, repeats=8), tmp_path / "run")
    wait_for_requests(tmp_path / "run", 40)
    engine = engine_of(running)

    os.kill(running.pid, signal.SIGKILL)
    running.communicate()

    psutil.wait_procs([engine], timeout=20)
    assert not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE


def test_a_killed_sweep_is_resumed_without_measuring_anything_twice(ddbench, write_sweep, tmp_path):
    out = tmp_path / "run"
    running = start_sweep(write_sweep(count=8, concurrency="[1, 2]", repeats=3), out)
    wait_for_requests(out, 16)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()

    done = ddbench("sweep", "--resume", out)

    assert done.returncode == 0, done.stderr
    trials = [(row["concurrency"], row["repeat"]) for row in exported(ddbench, out)]
    assert {trial: trials.count(trial) for trial in trials} == {
        (concurrency, repeat): 8 for concurrency in (1, 2) for repeat in range(3)
    }
    with closing(sqlite3.connect(out / "run.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_folder_that_holds_a_run_is_left_as_it_is(ddbench, write_sweep, finished):
    _, out, rows = finished

    done = ddbench("sweep", write_sweep(), "--out", out)

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "try: " in done.stderr
    assert exported(ddbench, out) == rows
