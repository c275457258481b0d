"""The lines that other programs read."""

import io
import json
from collections.abc import Callable
from pathlib import Path

from ddbench.records import Failure, Launch, RunResult, SweepPlan
from ddbench.runs.export import export_jsonl
from ddbench.runs.store import RunStore

FIELDS = {
    *("arm", "algorithm", "block_size", "budget", "topk", "concurrency", "repeat", "prompt_id"),
    *("status", "completion_tokens", "output_ids", "output_logprobs", "retractions", "verify_ct"),
    *("correct_drafts", "committed_drafts", "histogram", "finish_reason", "ttft_s", "e2e_s"),
}


def exported(
    folder: Path, plan: SweepPlan, launch: Launch, *results: RunResult
) -> list[dict[str, object]]:
    with RunStore.create(folder, plan) as store:
        launch_id = store.add_launch(launch)
        for result in results:
            store.add_result(launch_id, result)
        stream = io.StringIO()
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
