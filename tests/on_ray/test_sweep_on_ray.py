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

QUICKSTART = """
  - autoregressive
  - linear: {block_size: 8}
  - tree: {block_size: 8, budget: [15], topk: [4]}
"""
COMMAND = [sys.executable, "-c", "from ddbench.cli.main import main; main()"]


def exported(ddbench, run: Path) -> list[dict]:
    done = ddbench("export", run, "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def column(run: Path, sql: str) -> list:
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        return [row[0] for row in db.execute(sql)]


HOSTS = """SELECT json_extract(environment, '$.facts."host.name"') FROM launches"""


def test_the_quickstarts_arms_give_the_same_tokens_and_verify_counts_as_here(
    ddbench, write_sweep, cluster, tmp_path
):
    sweep = write_sweep(arms=QUICKSTART, count=8, max_new_tokens=32)
    sweep.write_text(sweep.read_text() + "visits: 2\n")

    here = ddbench("sweep", sweep, "--out", tmp_path / "here")
    there = ddbench(
        *("sweep", sweep, "--out", tmp_path / "there"),
        *("--executor", "ray", "--address", cluster.address),
    )

    assert here.returncode == 0, here.stderr
    assert there.returncode == 0, there.stderr
    facts = ("output_ids", "verify_ct", "committed_drafts", "histogram")
    tokens = [
        {
            (row["arm"], row["prompt_id"]): [row[fact] for fact in facts]
            for row in exported(ddbench, tmp_path / run)
        }
        for run in ("here", "there")
    ]
    assert len(tokens[0]) == 3 * 8
    assert tokens[0] == tokens[1]
    assert set(column(tmp_path / "there", HOSTS)) == {"alpha", "beta"}
    logs = column(tmp_path / "there", "SELECT log_name FROM launches")
    assert len(set(logs)) == 6
    for log in logs:
        assert "Decode batch" in (tmp_path / "there" / log).read_text()
