"""`ddbench export` as a process: what goes to stdout, into files, and what is refused."""

import csv
import gzip
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ddbench.runs.foreign.read import read_tool_results

DUMP = Path(__file__).parent.parent / "fixtures" / "runs" / "quickstart-logprobs.sql.gz"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logprobs")
    with sqlite3.connect(folder / "run.sqlite") as database:
        database.executescript(gzip.decompress(DUMP.read_bytes()).decode())
    database.close()
    return folder


def test_a_run_becomes_a_table_of_its_requests(ddbench, run, tmp_path) -> None:
    table = tmp_path / "requests.csv"

    done = ddbench("export", run, "--format", "csv", "--out", table)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = ddbench("export", run).stdout.splitlines()
    assert [row["prompt_id"] for row in rows] == [json.loads(line)["prompt_id"] for line in lines]


@pytest.mark.parametrize("format", ["sglang", "vllm"])
def test_a_run_is_read_by_check_as_another_tools_result(ddbench, run, tmp_path, format) -> None:
    results = tmp_path / "results.jsonl"

    done = ddbench("export", run, "--format", format, "--out", results if format == "sglang" else
                   tmp_path / "results")  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    paths = [results] if format == "sglang" else sorted((tmp_path / "results").iterdir())
    arms = {json.loads(line)["arm"] for line in ddbench("export", run).stdout.splitlines()}
    assert sum(len(read_tool_results(path)) for path in paths) == len(arms)
    checked = ddbench("check", *paths)
    assert checked.returncode == 0, checked.stdout
    assert "error" not in checked.stdout.lower()


def test_a_file_that_is_there_is_never_overwritten(ddbench, run, tmp_path) -> None:
    (tmp_path / "kept.jsonl").write_text("mine")

    done = ddbench("export", run, "--out", tmp_path / "kept.jsonl")

    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "File exists" in done.stderr
    assert (tmp_path / "kept.jsonl").read_text() == "mine"


def test_without_pyarrow_parquet_is_a_sentence_and_no_file(run, tmp_path) -> None:
    out = tmp_path / "requests.parquet"
    code = "import sys; sys.modules['pyarrow'] = None; from ddbench.cli.main import main; main()"
    command = [sys.executable, "-c", code, "export", run, "--format", "parquet", "--out", out]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "pip install 'ddbench[parquet]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()
