"""Sweeps over a cluster of two nodes, as a user runs them."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

ARMS = """
  - linear: {block_size: 8}
  - tree: {block_size: 8, budget: [15], topk: [4]}
"""
GONE_S = 15.0  # it takes 1 s, or 5 on a machine that is busy five times over
COMMAND = [sys.executable, "-c", "from ddbench.cli.main import main; main()"]


def exported(ddbench, run: Path) -> list[dict]:
    done = ddbench("export", run, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def column(run: Path, sql: str) -> list:
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        return [row[0] for row in db.execute(sql)]


HOSTS = """SELECT json_extract(environment, '$.facts."host.name"') FROM launches"""


def test_drafting_arms_give_the_same_tokens_and_verify_counts_as_here(
    ddbench, write_sweep, cluster, tmp_path
):
    once = write_sweep(arms=ARMS, count=8, max_new_tokens=32)
    twice = write_sweep(arms=ARMS, count=8, max_new_tokens=32)
    twice.write_text(twice.read_text() + "visits: 2\n")

    here = ddbench("sweep", once, "--out", tmp_path / "here")
    there = ddbench(
        *("sweep", twice, "--out", tmp_path / "there"),
        *("--executor", "ray", "--address", cluster.address),
    )

    assert here.returncode == 0, here.stderr
    assert there.returncode == 0, there.stderr
    assert all(f"\n{host}: [" in there.stderr for host in ("alpha", "beta"))
    facts = ("output_ids", "verify_ct", "committed_drafts", "histogram")
    tokens = [
        {
            (row["arm"], row["prompt_id"]): [row[fact] for fact in facts]
            for row in exported(ddbench, tmp_path / run)
        }
        for run in ("here", "there")
    ]
    assert len(tokens[0]) == 2 * 8
    assert tokens[0] == tokens[1]
    assert set(column(tmp_path / "there", HOSTS)) == {"alpha", "beta"}
    logs = column(tmp_path / "there", "SELECT log_name FROM launches")
    assert len(set(logs)) == 4
    for log in logs:
        assert "Decode batch" in (tmp_path / "there" / log).read_text()


def start(*arguments: object, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            [*COMMAND, *map(str, arguments)], stdout=output, stderr=subprocess.STDOUT
        )


def wait_for_second_trial(events: Path, host: str, *, of: subprocess.Popen) -> None:
    """Until the host has ended a trial, and is in the next."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        lines = events.read_text().splitlines() if events.exists() else []
        told = [(e["event"], e["host"]) for e in map(json.loads, lines[1:-1])]
        if told.count(("trial_started", host)) > 1:
            return
        assert of.poll() is None, "the sweep ended by itself"
        time.sleep(0.1)
    pytest.fail(f"no second trial on {host} within 240 s")


def results_by_trial(run: Path) -> Counter:
    return Counter(column(run, "SELECT key FROM trials WHERE failure IS NULL"))


def test_a_node_killed_in_mid_sweep_costs_one_attempt_and_no_result(
    write_rude_sweep, cluster, tmp_path
):
    sweep = write_rude_sweep("fork", repeats="3", concurrency="[1]", step_s=0.2)
    run, events = tmp_path / "run", tmp_path / "events.jsonl"
    address = ("--executor", "ray", "--address", cluster.address)
    running = start(
        "sweep", sweep, "--out", run, *address, "--events", events, log=tmp_path / "said"
    )
    try:
        wait_for_second_trial(events, "beta", of=running)
        kept = results_by_trial(run)
        servers = cluster.servers("beta")

        cluster.kill("beta")
        gone, alive = psutil.wait_procs(servers, timeout=GONE_S)
        code = running.wait(timeout=300)
    finally:
        running.kill()
        for process in cluster.processes("beta"):
            process.kill()
        cluster.start("beta")

    said = (tmp_path / "said").read_text()
    assert len(gone) == 3  # the guard, the server, and what that forked
    assert alive == []
    assert code == 0, said
    assert "Traceback" not in said
    assert kept <= results_by_trial(run)
    assert set(results_by_trial(run).values()) == {1}
    assert len(results_by_trial(run)) == 6
    crashes = column(run, "SELECT json_extract(failure, '$.crash_class') FROM trials")
    assert crashes.count("host_lost") == 1
    assert (sweep.parent / "pids").exists()


def test_kill_9_of_the_driver_leaves_no_server_and_resume_measures_the_rest(
    ddbench, write_rude_sweep, cluster, tmp_path
):
    sweep = write_rude_sweep("fork", repeats="3", concurrency="[1]", step_s=0.2)
    run, events = tmp_path / "run", tmp_path / "events.jsonl"
    address = ("--executor", "ray", "--address", cluster.address)
    running = start(
        "sweep", sweep, "--out", run, *address, "--events", events, log=tmp_path / "said"
    )
    wait_for_second_trial(events, "beta", of=running)
    servers = cluster.servers("alpha") + cluster.servers("beta")

    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    _, alive = psutil.wait_procs(servers, timeout=GONE_S)
    kept = results_by_trial(run)
    resumed = ddbench("sweep", "--resume", run, *address)

    assert servers
    assert alive == []
    assert resumed.returncode == 0, resumed.stderr
    assert kept
    assert kept <= results_by_trial(run)
    assert set(results_by_trial(run).values()) == {1}
    assert len(results_by_trial(run)) == 6


def test_resources_that_no_host_has_are_named_beside_what_there_is(
    ddbench, write_sweep, cluster, tmp_path
):
    sweep = write_sweep()
    sweep.write_text(sweep.read_text() + "resources: {GPU: 8}\n")

    done = ddbench(
        *("sweep", sweep, "--out", tmp_path / "run"),
        *("--executor", "ray", "--address", cluster.address),
    )

    assert done.returncode == 2
    (error, _) = done.stderr.splitlines()
    assert "no host has 1 CPU, 8 GPU" in error
    assert "alpha: 1 CPU" in error
    assert "beta: 1 CPU" in error
    assert not (tmp_path / "run").exists()


def test_hosts_without_sglang_are_named(ddbench, write_rude_sweep, cluster, tmp_path):
    sweep = write_rude_sweep()
    sweep.write_text(sweep.read_text().replace(sys.executable, "/no/such/python"))

    done = ddbench(
        *("sweep", sweep, "--out", tmp_path / "run"),
        *("--executor", "ray", "--address", cluster.address),
    )

    assert done.returncode == 2
    assert "alpha: there is no /no/such/python, so no SGLang; beta: there is" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert not (tmp_path / "run").exists()


def test_the_doctor_examines_every_host(ddbench, cluster):
    done = ddbench("doctor", "--address", cluster.address, "--json")

    assert done.returncode == 0, done.stderr
    hosts = json.loads(done.stdout)
    assert [host["host"] for host in hosts] == ["alpha", "beta"]
    for host in hosts:
        assert host["resources"]["CPU"] == 1
        assert host["capabilities"][0]["name"] == "embedded engine"
        assert host["capabilities"][0]["ready"]


def test_no_cluster_at_the_address_is_one_sentence(ddbench, write_sweep, tmp_path):
    done = ddbench(
        *("sweep", write_sweep(), "--out", tmp_path / "run"),
        *("--executor", "ray", "--address", "127.0.0.1:1"),
    )

    assert done.returncode == 2
    assert done.stderr.startswith("error: no Ray cluster at 127.0.0.1:1")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
