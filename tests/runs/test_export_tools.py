"""Results as SGLang's and vLLM's tools write them: their keys, their sums, and nothing made up."""

import io
import json
import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddbench.errors import RunError
from ddbench.records import (
    Counters,
    Failure,
    Launch,
    RequestCompleted,
    RequestFailed,
    RunResult,
    SweepPlan,
    ToolResult,
)
from ddbench.runs.export_sglang import export_sglang
from ddbench.runs.export_vllm import export_vllm, export_vllm_files
from ddbench.runs.foreign.read import read_tool_results
from ddbench.runs.store import RunStore

CAPTURED = (
    Path(__file__).parent.parent
    / "fixtures"
    / "tools"
    / "sglang-0.5.23-bench-serving-details.jsonl"
)
# Typed from vLLM's source: the keys of every run, those of --save-detailed, those of a drafting
# server, and mean, median and std of the metrics.
VLLM_KEYS = {
    *("date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "num_prompts"),
    *("request_rate", "burstiness", "max_concurrency", "duration", "completed", "failed"),
    *("total_input_tokens", "total_output_tokens", "request_throughput", "request_goodput"),
    *("output_throughput", "total_token_throughput", "latencies", "queue_times"),
    *("max_output_tokens_per_s", "max_concurrent_requests", "rtfx"),
    *("input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors"),
    *(f"{s}_{m}_ms" for s in ("mean", "median", "std") for m in ("ttft", "tpot", "itl", "e2el")),
}
VLLM_DRAFTING = {
    f"spec_decode_{name}"
    for name in (
        *("acceptance_rate", "acceptance_length", "num_drafts", "draft_tokens"),
        *("accepted_tokens", "per_position_acceptance_rates"),
    )
}
METADATA = {"repeat", "visit"}
FAILED = Failure("server_died", "last line", "Read the log.")

Make = Callable[..., RunResult]
Store = Callable[..., RunStore]


@pytest.fixture
def stored(tmp_path: Path, plan: SweepPlan, launch: Launch) -> Store:
    """stored(result, ...): a run of them."""

    def store(*results: RunResult) -> RunStore:
        run = RunStore.create(tmp_path / "run", plan)
        launch_id = run.add_launch(launch)
        for number, result in enumerate(results):
            run.add_result(launch_id, replace(result, key=str(number)))
        return run

    return store


def answers(result: RunResult, count: int, *, chunks: int = 5, **load: Any) -> RunResult:
    """`count` answers of 5 tokens, each slower than the one before, two in flight; no failure."""
    first = result.completed[0]
    requests = [
        replace(
            first,
            prompt_id=f"code-{n}",
            sent_s=0.3 * n,
            ttft_s=0.02 + 0.001 * n,
            e2e_s=0.32 + 0.001 * n,
            output_logprobs=None,
            chunk_offsets_s=tuple(0.02 + 0.001 * n + 0.3 * k / (chunks - 1) for k in range(chunks)),
        )
        for n in range(count)
    ]
    trial = replace(result.trial, load=replace(result.trial.load, count=count, **load))
    return replace(result, trial=trial, requests=tuple(requests), wall_s=0.3 * count + 0.1)


def written(
    export: Callable[[RunStore, io.StringIO], int], store: RunStore
) -> list[dict[str, Any]]:
    stream = io.StringIO()
    with store:
        count = export(store, stream)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(lines) == count
    return lines


def read_back(tmp_path: Path, lines: list[dict[str, Any]]) -> list[ToolResult]:
    path = tmp_path / "result.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read_tool_results(path)


# ---------------------------------------------------------------- the keys


def test_the_keys_are_those_that_bench_serving_wrote(stored: Store, make_result: Make) -> None:
    captured = json.loads(CAPTURED.read_text())

    (line,) = written(export_sglang, stored(answers(make_result(), 3)))

    assert list(line) == list(captured)


def test_the_keys_are_those_that_vllm_bench_serve_writes(stored: Store, make_result: Make) -> None:
    plain = replace(answers(make_result(), 3), requests=_undrafted(answers(make_result(), 3)))

    drafting, other = written(export_vllm, stored(answers(make_result(), 3), plain))

    assert set(drafting) == VLLM_KEYS | VLLM_DRAFTING | METADATA
    assert set(other) == VLLM_KEYS | METADATA


def _undrafted(result: RunResult) -> tuple[RequestCompleted, ...]:
    return tuple(
        replace(r, verify_ct=None, correct_drafts=None, committed_drafts=None, histogram=None)
        for r in result.completed
    )


@pytest.mark.parametrize("export", [export_sglang, export_vllm])
@pytest.mark.parametrize(("count", "p90", "p99"), [(99, False, False), (100, True, False)])
def test_a_percentile_needs_ten_answers_above_it(
    stored: Store, make_result: Make, export: Any, count: int, p90: bool, p99: bool
) -> None:
    (line,) = written(export, stored(answers(make_result(), count)))

    assert (line.get("p90_ttft_ms") is not None) == p90
    assert (line.get("p99_ttft_ms") is not None) == p99


# ---------------------------------------------------------------- the values


def test_figures_of_bench_serving_follow_from_the_answers(stored: Store, make_result: Make) -> None:
    result = answers(make_result(), 120, concurrency=2)
    ttfts_ms = [1000.0 * r.ttft_s for r in result.completed]

    (line,) = written(export_sglang, stored(result))

    assert (line["tag"], line["backend"], line["dataset_name"]) == (
        "tree-8-31-4",
        "sglang",
        "builtin:mixed",
    )
    assert (line["request_rate"], line["max_concurrency"]) == (math.inf, 2)
    assert line["duration"] == result.wall_s
    assert (line["completed"], line["total_input_tokens"]) == (120, 120 * 12)
    assert line["output_throughput"] == pytest.approx(600 / 36.1)
    assert line["total_throughput"] == pytest.approx((600 + 1440) / 36.1)
    assert line["mean_ttft_ms"] == pytest.approx(statistics.fmean(ttfts_ms))
    assert line["median_ttft_ms"] == pytest.approx(statistics.median(ttfts_ms))
    assert line["std_ttft_ms"] == pytest.approx(statistics.pstdev(ttfts_ms))
    ninths = statistics.quantiles(ttfts_ms, n=10, method="inclusive")
    assert line["p90_ttft_ms"] == pytest.approx(ninths[-1])
    assert line["mean_tpot_ms"] == pytest.approx(75.0)
    assert line["mean_itl_ms"] == pytest.approx(75.0)
    assert line["concurrency"] == pytest.approx(sum(r.e2e_s for r in result.completed) / 36.1)


def test_what_was_not_measured_is_null(stored: Store, make_result: Make) -> None:
    drafting = answers(make_result(), 3, chunks=3)
    textless = replace(drafting, requests=tuple(replace(r, text=None) for r in drafting.completed))

    first, second = written(export_sglang, stored(drafting, textless))

    assert first["itls"] is first["mean_itl_ms"] is first["max_output_tokens_per_s"] is None
    assert first["total_output_tokens_retokenized"] is first["accept_length"] is None
    assert first["generated_texts"] == [drafting.completed[0].text] * 3
    assert second["generated_texts"] is None


def test_times_between_chunks_are_itl_where_the_tool_counts_chunks(
    stored: Store, make_result: Make
) -> None:
    chat = answers(make_result(), 3, chunks=3, route="chat")
    drafting = replace(chat, counters_after=Counters(avg_spec_accept_length=2.5))

    counted, again = written(export_sglang, stored(chat, drafting))

    assert counted["backend"] == "sglang-oai-chat"
    assert counted["mean_itl_ms"] == pytest.approx(150.0)
    assert again["mean_itl_ms"] is None  # the tool would count each chunk's tokens again
    assert again["accept_length"] == 2.5
    assert counted["itls"] == again["itls"] == [[pytest.approx(0.15)] * 2] * 3


def test_acceptance_is_on_the_definition_of_vllm(stored: Store, make_result: Make) -> None:
    (line,) = written(export_vllm, stored(answers(make_result(), 4, chunks=3)))

    assert line["spec_decode_num_drafts"] == 8
    assert line["spec_decode_accepted_tokens"] == 12
    assert line["spec_decode_acceptance_length"] == 1.0 + 12 / 8
    assert line["spec_decode_per_position_acceptance_rates"] == [1.0, 0.5]
    assert line["spec_decode_draft_tokens"] is line["spec_decode_acceptance_rate"] is None
    assert line["mean_itl_ms"] == pytest.approx(150.0)


def test_bench_serving_counts_what_touches_one_second(stored: Store, make_result: Make) -> None:
    result = answers(make_result(), 20)  # each starts 20 ms before the one before it ends

    (theirs,) = written(export_sglang, stored(result))

    assert theirs["max_concurrent_requests"] == 5  # of 0.3 s each, five touch one second


def test_an_open_loop_has_a_rate_and_no_concurrency(stored: Store, make_result: Make) -> None:
    open_loop = answers(
        make_result(), 3, concurrency=0, rate_per_s=7.5, arrival="gamma", burstiness=0.5
    )

    (line,) = written(export_vllm, stored(open_loop))

    assert (line["request_rate"], line["burstiness"], line["max_concurrency"]) == (7.5, 0.5, None)
    assert line["max_concurrent_requests"] == 2


# ---------------------------------------------------------------- there and back


def test_bench_serving_is_read_back_as_it_was_measured(
    tmp_path: Path, stored: Store, make_result: Make
) -> None:
    result = answers(make_result(), 12)
    failed = RequestFailed("code-3", 1.0, 0.0, "the connection was reset")
    with_failure = replace(result, requests=(*result.requests, failed))

    (said,) = read_back(tmp_path, written(export_sglang, stored(with_failure)))

    assert (said.tool, said.completed, said.failed) == ("SGLang bench_serving", 12, 1)
    assert said.output_tokens == 60
    assert said.requests[-1] == RequestFailed("request 13", 0.0, 0.0, failed.reason)
    for mine, theirs in zip(result.completed, said.requests, strict=False):
        assert isinstance(theirs, RequestCompleted)
        assert theirs.ttft_s == mine.ttft_s
        assert theirs.e2e_s == pytest.approx(mine.e2e_s)
        assert (theirs.prompt_tokens, theirs.completion_tokens, theirs.text) == (12, 5, mine.text)


def test_vllm_bench_serve_is_read_back_as_it_was_measured(
    tmp_path: Path, stored: Store, make_result: Make
) -> None:
    result = answers(make_result(), 12)

    (said,) = read_back(tmp_path, written(export_vllm, stored(result)))

    assert (said.tool, said.completed, said.failed) == ("vLLM bench serve", 12, 0)
    assert said.duration_s == result.wall_s
    assert said.request_rate_per_s == math.inf
    assert said.draft_steps == 24
    assert said.accept_length == 1.0 + sum(said.position_rates)
    assert said.percentiles["e2e_latency_ms"]["median"] == pytest.approx(325.5)
    assert "p99" not in said.percentiles["ttft_ms"]


@pytest.mark.parametrize("export", [export_sglang, export_vllm])
def test_a_trial_that_may_not_be_timed_is_left_out(
    stored: Store, make_result: Make, export: Any
) -> None:
    probe = answers(make_result(), 3, record_drafts=True)
    died = replace(answers(make_result(), 3), failure=FAILED)
    silent = replace(make_result(), requests=make_result().requests[1:])

    lines = written(export, stored(probe, died, silent, answers(make_result(), 3)))

    assert [line["completed"] for line in lines] == [3]


def test_a_prompt_that_nobody_answered_has_no_known_length(
    stored: Store, make_result: Make
) -> None:
    (line,) = written(export_sglang, stored(make_result()))  # json-2 failed

    assert line["input_lens"] is None
    assert line["errors"] == ["", "the connection was reset"]


def test_vllm_files_hold_one_trial_each_under_the_names_of_the_tool(
    tmp_path: Path, stored: Store, make_result: Make
) -> None:
    odd = answers(make_result(), 3)
    odd = replace(odd, trial=replace(odd.trial, arm="../a b/<c>"))

    with stored(answers(make_result(), 3), answers(make_result(), 3), odd) as store:
        assert export_vllm_files(store, tmp_path / "results") == 3

    names = {path.name for path in (tmp_path / "results").iterdir()}
    stem = "infqps-concurrency2-builtin-20260101-000000"
    assert names == {
        f"tree-8-31-4-{stem}.json",
        f"tree-8-31-4-{stem}-2.json",
        f"_a_b_c_-{stem}.json",
    }
    assert all(len(read_tool_results(tmp_path / "results" / name)) == 1 for name in names)


def test_a_folder_that_cannot_be_written_is_a_sentence(
    tmp_path: Path, stored: Store, make_result: Make
) -> None:
    (tmp_path / "file").write_text("")

    with stored(answers(make_result(), 3)) as store, pytest.raises(RunError, match="File exists"):
        export_vllm_files(store, tmp_path / "file")
