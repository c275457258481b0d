"""`ddbench check` on result files of other tools, and on files that are nothing, as processes."""

import gzip
import json
import random
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent / "fixtures" / "tools"
SERVING = TOOLS / "sglang-0.5.23-bench-serving.jsonl"
LINE = (
    b"[2026-07-23 05:31:05] Decode batch, #running-req: 4, #token: 900, token usage: 0.10, "
    b"accept len: 3.00, accept rate: 0.29, cuda graph: True, gen throughput (token/s): 480.00, "
    b"#queue-req: 0\n"
)


@pytest.mark.parametrize("path", sorted(TOOLS.iterdir()), ids=lambda path: path.name)
def test_files_that_tools_wrote_have_notes_and_no_error(ddbench, path):
    done = ddbench("check", "--json", path)

    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert {f["severity"] for f in said["findings"]} == {"info"}
    assert said["skipped"]


def test_a_life_time_mean_is_named_in_each_run_of_a_file(ddbench, tmp_path):
    path = tmp_path / "sweep.jsonl"
    path.write_text(2 * SERVING.read_text())

    done = ddbench("check", "--select", "DDB131", path)

    assert done.stdout.count("INFO DDB131") == 2
    assert f"{path} (run 2)" in done.stdout


def test_an_edited_rate_is_an_error(ddbench, tmp_path):
    said = json.loads(SERVING.read_text())
    said["output_throughput"] *= 1.3
    path = tmp_path / "edited.jsonl"
    path.write_text(json.dumps(said))

    done = ddbench("check", path)

    assert done.returncode == 1
    assert "ERROR DDB210" in done.stdout


def bad_input(tmp_path: Path, kind: str) -> Path:
    path = tmp_path / kind
    if kind == "garbage":
        path.write_bytes(random.Random(1).randbytes(1_000_000))
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "cut.log.gz":
        path.write_bytes(gzip.compress(5000 * LINE)[:15])
    elif kind == "result of 500 MB.json":
        with path.open("wb") as file:
            file.write(SERVING.read_bytes())
            file.truncate(500 << 20)
    elif kind == "other of 500 MB.json":
        with path.open("wb") as file:
            file.write(b'{"a": [')
            file.truncate(500 << 20)
    elif kind == "wrong.jsonl":
        path.write_text(SERVING.read_text().replace('"completed": ', '"completed": -'))
    elif kind == "second line.jsonl":
        path.write_text(SERVING.read_text() + "{")
    return path


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("garbage", "holds no line"),
        ("empty", "holds nothing"),
        ("folder", "is not a run"),
        ("cut.log.gz", "cut off or damaged"),
        ("result of 500 MB.json", "500 MiB are more than a result file has"),
        ("other of 500 MB.json", "holds no line"),
        ("wrong.jsonl", "completed is -16, not a number of at least 0"),
        ("second line.jsonl", "line 2 is no JSON"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_two(ddbench, tmp_path, kind, words):
    done = ddbench("check", bad_input(tmp_path, kind))

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_line_of_100_mb_does_not_hide_the_lines_around_it(ddbench, tmp_path):
    path = tmp_path / "server.log"
    path.write_bytes(3 * LINE + b"x" * 100_000_000 + b"\n" + 4 * LINE)

    done = ddbench("check", "--json", path)

    assert done.returncode == 0
    assert len(json.loads(done.stdout)["windows"]) == 7
