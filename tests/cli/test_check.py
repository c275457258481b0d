"""`ddbench check` and `ddbench explain`, as a user runs them."""

import gzip
import json
import random
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures"
LOGS = FIXTURES / "logs"
PRIVATE = (
    "[2026-07-23 05:31:43 TP0] DDTREE stats: avg_accepted_depth=7.00 avg_commit_len=2.00\n"
    "[2026-07-23 05:31:48 TP0] DDTREE stats: avg_accepted_depth=6.50 avg_commit_len=2.10\n"
)


def decode_line(second, running, accept_len=3.0, rate=0.29):
    return (
        f"[2026-07-23 05:31:{second:02}] Decode batch, #running-req: {running}, #token: 900, "
        f"token usage: 0.10, accept len: {accept_len:.2f}, accept rate: {rate:.2f}, "
        f"cuda graph: True, gen throughput (token/s): 480.00, #queue-req: 0\n"
    )


def test_depth_seven_and_commit_two_is_an_error(ddbench, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(PRIVATE)

    done = ddbench("check", log)

    assert done.returncode == 1
    assert "ERROR DDB101" in done.stdout
    assert "contiguous slots" in done.stdout
    assert "next: Log accepted_indices" in done.stdout


@pytest.mark.parametrize("log", sorted(LOGS.glob("*.log")), ids=lambda path: path.name)
def test_captured_logs_of_healthy_servers_have_no_error(ddbench, log):
    done = ddbench("check", "--json", log)

    assert done.returncode == 0, done.stdout
    said = json.loads(done.stdout)
    assert set(said) == {"windows", "findings", "skipped", "unreadable", "partial"}
    decode_lines = log.read_text(errors="replace").count(" Decode batch")
    assert len(said["windows"]) == decode_lines
    assert [f for f in said["findings"] if f["severity"] == "error"] == []


def test_json_repeats_what_the_line_says(ddbench, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(decode_line(7, running=4, accept_len=3.41, rate=0.34))

    (row,) = json.loads(ddbench("check", "--json", log).stdout)["windows"]

    assert row["subject"] == str(log)
    assert row["window"]["running_requests"] == 4
    assert row["window"]["accept_len_logged"] == 3.41
    assert row["window"]["graph"] is True
    assert row["window"]["commit_len"] is None


def test_two_logs_at_concurrency_one_and_sixty_four_are_not_comparable(ddbench, tmp_path):
    paths = []
    for running in (1, 64):
        path = tmp_path / f"c{running}.log"
        path.write_text("".join(decode_line(second, running) for second in range(20)))
        paths.append(path)

    done = ddbench("check", *paths)

    assert done.returncode == 1
    assert "not comparable: concurrency 1 against 64" in done.stdout


def test_two_starts_of_one_server_are_not_held_against_each_other(ddbench, tmp_path):
    log = tmp_path / "server.log"
    started = "[2026-07-23 05:31:40] server_args=ServerArgs(model_path='m', page_size=1)\n"
    ready = "[2026-07-23 05:31:41] The server is fired up and ready to roll!\n"
    starts = [started + ready + decode_line(50, running) * 5 for running in (1, 64)]
    log.write_text("".join(starts))

    said = json.loads(ddbench("check", "--json", log).stdout)

    assert {row["subject"] for row in said["windows"]} == {str(log), f"{log} (start 2)"}
    assert said["findings"] == []


def test_two_servers_in_one_log_are_looked_at_apart(ddbench, tmp_path):
    log = tmp_path / "compose.log"
    healthy = [f"a  | {decode_line(second, 1)}" for second in range(9)]
    broken = [f"b  | {decode_line(second, 1, accept_len=0.5)}" for second in range(9)]
    log.write_text("".join(line for pair in zip(healthy, broken, strict=True) for line in pair))

    said = json.loads(ddbench("check", "--json", "--select", "DDB104", log).stdout)

    (finding,) = said["findings"]
    assert finding["subject"] == f"{log} [b]"


def test_select_and_ignore_take_prefixes(ddbench, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(PRIVATE + decode_line(50, 1, accept_len=0.5))

    both = ddbench("check", "--statistics", "--select", "DDB101,DDB104", log)
    assert "DDB101" in both.stdout
    assert "DDB104" in both.stdout
    one = ddbench("check", "--ignore", "ddb101", "--select", "DDB1", log)
    assert "DDB101" not in one.stdout
    none = ddbench("check", "--ignore", "DDB1", "--ignore", "DDB2", log)
    assert none.returncode == 0


def test_github_shows_one_annotation_a_finding(ddbench, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(PRIVATE)

    done = ddbench("check", "--output-format", "github", log)

    (line,) = done.stdout.splitlines()
    assert line.startswith(f"::error file={log},title=DDB101 ")
    assert done.returncode == 1


def test_sarif_has_every_rule_and_the_findings(ddbench, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(PRIVATE)

    document = json.loads(ddbench("check", "--output-format", "sarif", log).stdout)

    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    (result,) = run["results"]
    assert result["ruleId"] == "DDB101"
    assert result["ruleId"] in rules
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == str(log)


def test_answers_of_generate_are_checked(ddbench, tmp_path):
    meta = {
        "finish_reason": {"type": "length", "length": 31},
        "prompt_tokens": 16,
        "completion_tokens": 31,
        "spec_verify_ct": 10,
        "spec_num_correct_drafts": 20,
        "spec_num_proposed_drafts": 70,
        "spec_accept_length": 3.1,
        "spec_accept_rate": 20 / 70,
        "spec_correct_drafts_histogram": [2, 1, 2, 4],
    }
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({"text": "a b c", "meta_info": meta}))

    done = ddbench("check", path)

    assert done.returncode == 1
    assert "10 steps and 9 in its histogram" in done.stdout


@pytest.mark.parametrize(
    "stream", sorted((FIXTURES / "streams").glob("*.jsonl")), ids=lambda p: p.stem
)
def test_captured_streams_have_no_error(ddbench, tmp_path, stream):
    path = tmp_path / "answer.sse"
    lines = [json.loads(line)["line"] for line in stream.read_text().splitlines()]
    path.write_text("\n\n".join(lines))

    done = ddbench("check", path)

    assert done.returncode == 0, done.stdout + done.stderr


def bad_input(tmp_path, kind):
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "garbage":
        path.write_bytes(random.Random(3).randbytes(100_000))
    elif kind == "empty":
        path.touch()
    elif kind == "other.json":
        path.write_text('{"duration": 1.5, "completed": 40}')
    elif kind == "one line of 30 MB":
        path.write_bytes(b"x" * 30_000_000)
    return path


@pytest.mark.parametrize(
    "kind", ["absent", "folder", "garbage", "empty", "other.json", "one line of 30 MB"]
)
def test_bad_input_is_one_sentence_and_exit_two(ddbench, tmp_path, kind):
    done = ddbench("check", bad_input(tmp_path, kind))

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_log_that_was_cut_off_gives_a_partial_result(ddbench, tmp_path):
    whole = gzip.compress("".join(decode_line(s % 60, 4, 9.0, 0.99) for s in range(5000)).encode())
    path = tmp_path / "server.log.gz"
    path.write_bytes(whole[: len(whole) // 2])

    done = ddbench("check", "--select", "DDB105", path)

    assert done.returncode == 2
    assert "DDB105" in done.stdout
    assert "partial result" in done.stderr


def test_explain_prints_a_rule_or_says_which_there_are(ddbench):
    done = ddbench("explain", "ddb101")
    assert done.returncode == 0
    for heading in ("## Why it matters", "## How it is computed", "## Example", "## What to do"):
        assert heading in done.stdout
    assert "DDB417" in ddbench("explain", "all").stdout
    unknown = ddbench("explain", "DDB199")
    assert unknown.returncode == 2
    assert "DDB101" in unknown.stderr
