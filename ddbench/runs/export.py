"""The raw facts of a run, for other programs."""

from typing import TextIO

import orjson

from ddbench.records import RequestFailed, RequestOutcome, RunResult
from ddbench.runs.store import RunStore

Line = dict[str, object]

_MEASURED = (
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
)


def export_jsonl(store: RunStore, stream: TextIO) -> int:
    """Write one JSON object a request, failed requests and trials too; returns how many.

    Every line has every field; null is "not measured". Infinities, which JSON has not, are null.
    """
    lines = 0
    for result in store.results():
        for request in result.requests:
            stream.write(orjson.dumps(_line(result, request)).decode() + "\n")
            lines += 1
    return lines


def _is_steady(span_s: tuple[float, float] | None, at_s: float) -> bool | None:
    return None if span_s is None else span_s[0] <= at_s <= span_s[1]


def _line(result: RunResult, request: RequestOutcome) -> Line:
    trial, speculation = result.trial, result.trial.server.speculation
    failed = request if isinstance(request, RequestFailed) else None
    return {
        "arm": trial.arm,
        "algorithm": speculation.algorithm,
        "block_size": speculation.block_size,
        "budget": speculation.budget,
        "topk": speculation.topk,
        "concurrency": trial.load.concurrency,
        "repeat": trial.repeat,
        "visit": trial.visit,
        "trial_failure": result.failure.crash_class if result.failure else None,
        "prompt_id": request.prompt_id,
        "status": "failed" if failed else "completed",
        **{name: getattr(request, name, None) for name in _MEASURED},
        "sent_s": request.sent_s,
        "sent_in_steady_span": _is_steady(result.steady_span_s, request.sent_s),
        "lateness_s": request.lateness_s,
        "reason": failed.reason if failed else None,
        "http_status": failed.http_status if failed else None,
    }
