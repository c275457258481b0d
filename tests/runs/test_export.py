"""The lines and rows that other programs read."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

from ddbench.records import Failure, Launch, RunResult, SweepPlan
from ddbench.runs.export import export_csv, export_jsonl
from ddbench.runs.export_parquet import export_parquet
from ddbench.runs.store import RunStore

FIELDS = {
    *("arm", "algorithm", "block_size", "budget", "topk", "concurrency", "repeat", "prompt_id"),
    *("status", "completion_tokens", "output_ids", "output_logprobs", "retractions", "verify_ct"),
    *("correct_drafts", "committed_drafts", "histogram", "finish_reason", "ttft_s", "e2e_s"),
}


def stored(folder: Path, plan: SweepPlan, launch: Launch, *results: RunResult) -> RunStore:
    store = RunStore.create(folder, plan)
    launch_id = store.add_launch(launch)
    for result in results:
        store.add_result(launch_id, result)
    return store


def exported(
    folder: Path, plan: SweepPlan, launch: Launch, *results: RunResult
) -> list[dict[str, object]]:
    stream = io.StringIO()
    with stored(folder, plan, launch, *results) as store:
        count = export_jsonl(store, stream)

    lines = [json.loads(line, parse_constant=_refuse) for line in stream.getvalue().splitlines()]
    assert len(lines) == count
    return lines


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def test_every_request_is_one_line_with_every_field(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Callable[..., RunResult]
) -> None:
    completed, failed = exported(tmp_path, plan, launch, make_result(repeat=1))

    assert completed.keys() >= FIELDS
    assert completed.keys() == failed.keys()
    assert completed | {"arm": "tree-8-31-4", "algorithm": "DDTREE", "block_size": 8} == completed
    assert completed | {"budget": 31, "topk": 4, "concurrency": 2, "repeat": 1} == completed
    assert completed | {"prompt_id": "code-1", "status": "completed"} == completed
    assert completed | {"completion_tokens": 5, "output_ids": [9, 8, 7, 6, 5]} == completed
    assert completed | {"verify_ct": 2, "correct_drafts": 3, "committed_drafts": 2} == completed
    assert completed | {"histogram": [0, 1, 1], "finish_reason": "stop"} == completed
    assert completed | {"retractions": 0, "ttft_s": 0.02, "e2e_s": 0.3} == completed


def test_a_failed_request_says_why_and_measures_nothing(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Callable[..., RunResult]
) -> None:
    _, failed = exported(tmp_path, plan, launch, make_result())

    assert (failed["prompt_id"], failed["status"]) == ("json-2", "failed")
    assert failed["reason"] == "the connection was reset"
    assert [failed[name] for name in ("ttft_s", "completion_tokens", "histogram")] == [None] * 3


def test_an_infinite_logprob_is_null(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Callable[..., RunResult]
) -> None:
    completed, _ = exported(tmp_path, plan, launch, make_result())

    assert completed["output_logprobs"] == [-0.1, None, -0.3, -0.4, -0.5]


def test_the_requests_of_a_failed_trial_are_marked(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Callable[..., RunResult]
) -> None:
    died = make_result(failure=Failure("server_died", "last line", "Read the log."))

    lines = exported(tmp_path, plan, launch, died, make_result())

    assert [line["trial_failure"] for line in lines] == ["server_died"] * 2 + [None] * 2


def test_a_csv_says_what_the_lines_say(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Callable[..., RunResult]
) -> None:
    with stored(tmp_path, plan, launch, make_result(repeat=1)) as store:
        lines, table = io.StringIO(), io.StringIO(newline="")
        assert export_jsonl(store, lines) == export_csv(store, table) == 2

    table.seek(0)
    said = [json.loads(line) for line in lines.getvalue().splitlines()]
    rows = list(csv.DictReader(table))
    assert [list(row) for row in rows] == [list(line) for line in said]
    for row, line in zip(rows, said, strict=True):
        assert {name for name, cell in row.items() if cell == ""} == {
            name for name, value in line.items() if value is None
        }
        assert row["text"] == (line["text"] or "")
        assert float(row["sent_s"]) == line["sent_s"]
    assert json.loads(rows[0]["histogram"]) == [0, 1, 1]
    assert rows[0]["sent_in_steady_span"] == ""


def test_a_parquet_file_keeps_types_lists_and_what_was_not_measured(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Callable[..., RunResult]
) -> None:
    from pyarrow import parquet

    with stored(tmp_path / "run", plan, launch, make_result("a"), make_result("b")) as store:
        with (tmp_path / "rows.parquet").open("wb") as file:
            assert export_parquet(store, file) == 4

    rows = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    completed, failed = rows[2:]
    assert (completed["trial_key"], completed["ttft_s"], completed["e2e_s"]) == ("b", 0.02, 0.3)
    assert completed["output_logprobs"] == [-0.1, float("-inf"), -0.3, -0.4, -0.5]
    assert completed["histogram"] == [0, 1, 1]
    assert completed["text"] == 'say "a|b"\n\0'
    assert (failed["status"], failed["ttft_s"], failed["histogram"]) == ("failed", None, None)
    assert failed["http_status"] is None


def test_seconds_and_rates_say_so_in_their_names(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Callable[..., RunResult]
) -> None:
    completed, _ = exported(tmp_path, plan, launch, make_result())

    times = {name for name, value in completed.items() if isinstance(value, float)}
    assert {name for name in times if not name.endswith(("_s", "_per_s"))} == {"temperature"}
