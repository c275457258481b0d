"""One flat row a request: the trial it belongs to, what was asked, and what was measured."""

from collections.abc import Iterator, Mapping
from typing import Literal

from ddbench.records import RequestFailed, RequestOutcome, RunResult
from ddbench.runs.store import RunStore

Kind = Literal["text", "whole", "number", "flag", "wholes", "numbers"]
Value = str | int | float | bool | tuple[int, ...] | tuple[float, ...] | None
Row = dict[str, Value]

COLUMNS: Mapping[str, Kind] = {
    "arm": "text",
    "algorithm": "text",
    "block_size": "whole",
    "budget": "whole",
    "topk": "whole",
    "engine": "text",
    "model": "text",
    "draft_model": "text",
    "prompts": "text",
    "route": "text",
    "concurrency": "whole",
    "rate_per_s": "number",
    "arrival": "text",
    "max_new_tokens": "whole",
    "temperature": "number",
    "seed": "whole",
    "record_drafts": "flag",
    "repeat": "whole",
    "visit": "whole",
    "trial_key": "text",
    "trial_started_at": "text",
    "trial_wall_s": "number",
    "trial_failure": "text",
    "prompt_id": "text",
    "status": "text",
    "prompt_tokens": "whole",
    "completion_tokens": "whole",
    "output_ids": "wholes",
    "output_logprobs": "numbers",
    "retractions": "whole",
    "cached_tokens": "whole",
    "verify_ct": "whole",
    "correct_drafts": "whole",
    "committed_drafts": "whole",
    "histogram": "wholes",
    "finish_reason": "text",
    "ttft_s": "number",
    "e2e_s": "number",
    "chunk_offsets_s": "numbers",
    "text": "text",
    "sent_s": "number",
    "sent_in_steady_span": "flag",
    "lateness_s": "number",
    "reason": "text",
    "http_status": "whole",
}
"""Every row has every column, in this order; None is "not measured"."""

_OF_THE_ANSWER = (
    "prompt_tokens",
    "completion_tokens",
    "output_ids",
    "output_logprobs",
    "retractions",
    "cached_tokens",
    "verify_ct",
    "correct_drafts",
    "committed_drafts",
    "histogram",
    "finish_reason",
    "ttft_s",
    "e2e_s",
    "chunk_offsets_s",
    "text",
)


def rows_of(store: RunStore) -> Iterator[Row]:
    """Of every request, failed ones and those of failed trials too, in the order of the run."""
    for result in store.results():
        shared = _of_trial(result)
        for request in result.requests:
            row = shared | _of_request(result, request)
            yield {name: row[name] for name in COLUMNS}


def _of_trial(result: RunResult) -> Row:
    trial, load, server = result.trial, result.trial.load, result.trial.server
    speculation = server.speculation
    return {
        "arm": trial.arm,
        "algorithm": speculation.algorithm,
        "block_size": speculation.block_size,
        "budget": speculation.budget,
        "topk": speculation.topk,
        "engine": server.engine,
        "model": server.model,
        "draft_model": server.draft_model,
        "prompts": load.prompts,
        "route": load.route,
        "concurrency": load.concurrency,
        "rate_per_s": load.rate_per_s,
        "arrival": None if load.rate_per_s is None else load.arrival,
        "max_new_tokens": load.max_new_tokens,
        "temperature": load.temperature,
        "seed": load.seed,
        "record_drafts": load.record_drafts,
        "repeat": trial.repeat,
        "visit": trial.visit,
        "trial_key": result.key,
        "trial_started_at": result.started_at,
        "trial_wall_s": result.wall_s,
        "trial_failure": result.failure.crash_class if result.failure else None,
    }


def _of_request(result: RunResult, request: RequestOutcome) -> Row:
    failed = request if isinstance(request, RequestFailed) else None
    return {
        "prompt_id": request.prompt_id,
        "status": "failed" if failed else "completed",
        **{name: getattr(request, name, None) for name in _OF_THE_ANSWER},
        "sent_s": request.sent_s,
        "sent_in_steady_span": _is_steady(result.steady_span_s, request.sent_s),
        "lateness_s": request.lateness_s,
        "reason": failed.reason if failed else None,
        "http_status": failed.http_status if failed else None,
    }


def _is_steady(span_s: tuple[float, float] | None, at_s: float) -> bool | None:
    return None if span_s is None else span_s[0] <= at_s <= span_s[1]
