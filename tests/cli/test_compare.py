"""`ddbench compare linear-vs-tree` as a process: streams, exit codes, plain data."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

RUNS = Path(__file__).parent.parent / "fixtures" / "runs"


def unpack(name: str, folder: Path) -> Path:
    with sqlite3.connect(folder / "run.sqlite") as database:
        database.executescript(gzip.decompress((RUNS / f"{name}.sql.gz").read_bytes()).decode())
    database.close()
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("quickstart", tmp_path_factory.mktemp("quickstart"))


@pytest.fixture(scope="module")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("quickstart-logprobs", tmp_path_factory.mktemp("logprobs"))


def test_a_gate_that_is_not_crossed_passes_and_prints_plain_data(ddbench, run) -> None:
    done = ddbench(
        *("compare", "linear-vs-tree", run, "--tree", "tree-8-31-4", "--json"),
        *("--fail-if", "tokens_per_step < 0.98", "--fail-if", "tokens_per_step@4 > 2"),
    )

    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    (pair,) = data["pairs"]
    assert [cell["concurrency"] for cell in pair["cells"]] == [1, 4, 8]
    assert pair["cells"][0]["ratios"]["tokens_per_step"]["value"] == pytest.approx(1.3175, abs=1e-4)
    assert pair["cells"][0]["label"] is None
    assert [one["holds"] for one in data["fail_if"]] == [False] * 4
    assert "2 conditions: none holds" in done.stderr


def test_a_gate_that_is_crossed_exits_1_and_names_the_bound(ddbench, run) -> None:
    done = ddbench("compare", "linear-vs-tree", run, "--fail-if", "tokens_per_step.low@1 < 1.2")

    assert done.returncode == 1
    assert (
        "fails: tokens_per_step.low@1 < 1.2 (tree-8-7-4 at concurrency 1: low 1.05" in done.stderr
    )
    assert done.stdout.startswith("Answer")
    assert "Drafter: not judged, for no drafts were recorded" in done.stdout


def test_unlike_runs_are_refused_with_everything_that_differs(ddbench, run, other_run) -> None:
    done = ddbench("compare", "linear-vs-tree", run, other_run, "--tree", "tree-8-31-4")

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "error: linear-8 and tree-8-31-4 are not comparable; they differ in",
        "  max_running_requests: 8 against 1",
        "  effective max running requests: 8 against 1",
        "  logprobs: False against True",
        "  try: Measure both arms alike; --force compares anyway and labels every number.",
    ]


def test_force_compares_them_and_says_so_in_markdown(ddbench, run, other_run) -> None:
    done = ddbench(
        *("compare", "linear-vs-tree", run, other_run, "--tree", "tree-8-31-4"),
        *("--force", "--markdown"),
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("## Answer")
    assert "1.32x [1.27, 1.37] n=48 (unlike conditions)" in done.stdout


def test_a_gate_that_cannot_be_decided_does_not_pass(ddbench, other_run) -> None:
    done = ddbench("compare", "linear-vs-tree", other_run, "--fail-if", "tokens_per_s < 0.5")

    assert done.returncode == 2
    assert "cannot be told: tokens_per_s < 0.5" in done.stderr


def test_a_service_level_names_the_best_arm_of_each_concurrency(ddbench, run) -> None:
    done = ddbench("compare", "linear-vs-tree", run, "--slo", "tpot_s<5,ttft_s<60", "--json")

    levels = json.loads(done.stdout)["slo"]
    assert [level["concurrency"] for level in levels] == [1, 4, 8]
    for level in levels:
        rates = [setting["tokens_per_s"]["value"] for setting in level["settings"]]
        assert level["best"]["tokens_per_s"]["value"] == max(rates)
        assert level["verdict"] == "meets it"


def test_a_service_level_that_cannot_be_told_is_refused(ddbench, run) -> None:
    done = ddbench("compare", "linear-vs-tree", run, "--slo", "ttft_s.p99<1")

    assert done.returncode == 2
    assert done.stdout == ""
    assert "1,000 requests that p99 of ttft_s needs" in done.stderr


def test_a_run_without_a_recording_says_how_to_judge_its_drafter(ddbench, run) -> None:
    done = ddbench("compare", "drafters", run)

    assert done.returncode == 2
    assert "record_drafts: true" in done.stderr
