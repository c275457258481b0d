"""As `vllm bench serve --save-detailed --append-result` writes it: one JSON line a trial.

Without --append-result the tool writes one object a file: export_vllm_files does that, under the
names that the tool gives. Source: vllm/benchmarks/serve.py (benchmark, main) at 009e6d4a1cd6.

`label` is the arm; repeat and visit are metadata, as --metadata adds it. null is what ddbench did
not measure or was not asked: goodput, tokens a second at their peak where a chunk held several,
drafted tokens and with them the acceptance rate. The tool itself writes no percentile that it was
not asked for, so those of too few requests are left out, and so are times in its own queue.
Acceptance is from the answers' counts, on the tool's definition: length = 1 + accepted / steps.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from ddbench.errors import RunError
from ddbench.records import RequestCompleted, RunResult
from ddbench.runs.export_figures import (
    all_known,
    chunk_gaps_s,
    details,
    lengths_asked,
    most_in_flight,
    statistics_ms,
    timed_trials,
    token_gaps_s,
    token_rate_peak,
    totals,
    tpots_s,
)
from ddbench.runs.store import RunStore

BACKENDS = {"generate": "sglang", "completions": "openai", "chat": "openai-chat"}

Keys = dict[str, object]


def export_vllm(store: RunStore, stream: TextIO) -> int:
    """Write one line a trial that may be timed; returns how many."""
    lines = 0
    for _, keys in _objects(store):
        stream.write(json.dumps(keys) + "\n")
        lines += 1
    return lines


def export_vllm_files(store: RunStore, folder: Path) -> int:
    """Write one file a trial into `folder`, over none that is there; returns how many."""
    written = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for result, keys in _objects(store):
            with _new_file(folder, result, keys).open("x", encoding="utf-8") as file:
                json.dump(keys, file)
            written += 1
    except OSError as cause:
        raise RunError(
            f"cannot write into {folder}: {cause.strerror or cause}",
            remedy="Name a folder with --out that you may write to, on a disk with space.",
        ) from cause
    return written


def _new_file(folder: Path, result: RunResult, keys: Keys) -> Path:
    """As the tool names it; repeats that began within one second are told apart by a number."""
    load = result.trial.load
    concurrency = f"-concurrency{load.concurrency}" if load.concurrency else ""
    model = str(keys["model_id"]).rstrip("/").split("/")[-1]
    parts = f"{keys['label']}-{load.rate_per_s or 'inf'}qps{concurrency}-{model}-{keys['date']}"
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", parts).lstrip(".")
    number, path = 1, folder / f"{stem}.json"
    while path.exists():
        number, path = number + 1, folder / f"{stem}-{number + 1}.json"
    return path


def _objects(store: RunStore) -> Iterator[tuple[RunResult, Keys]]:
    trials = list(timed_trials(store))
    asked = lengths_asked(trials)
    for result in trials:
        keys = _arguments(result) | _results(result) | details(result, asked, chunk_gaps_s)
        yield result, keys | _by_request(result) | _drafting(result) | _statistics(result)


def _arguments(result: RunResult) -> Keys:
    trial, load = result.trial, result.trial.load
    started = datetime.fromisoformat(result.started_at).astimezone(UTC)
    backend = BACKENDS[load.route]
    return {
        "date": started.strftime("%Y%m%d-%H%M%S"),
        "endpoint_type": backend,
        "backend": backend,
        "label": trial.arm,
        "model_id": trial.server.model,
        "tokenizer_id": None,  # the server counts the tokens
        "num_prompts": load.count,
        "repeat": str(trial.repeat),
        "visit": str(trial.visit),
        "request_rate": "inf" if load.rate_per_s is None else load.rate_per_s,
        "burstiness": None if load.arrival == "constant" else load.burstiness,
        "max_concurrency": load.concurrency or None,
    }


def _results(result: RunResult) -> Keys:
    sums = totals(result)
    return {
        "duration": sums.duration_s,
        "completed": sums.completed,
        "failed": sums.failed,
        "total_input_tokens": sums.input_tokens,
        "total_output_tokens": sums.output_tokens,
        "request_throughput": sums.per_s(sums.completed),
        "request_goodput": None,
        "output_throughput": sums.per_s(sums.output_tokens),
        "total_token_throughput": sums.per_s(sums.input_tokens + sums.output_tokens),
    }


def _by_request(result: RunResult) -> Keys:
    """Beside those that SGLang's tool has too."""
    answers = [r if isinstance(r, RequestCompleted) else None for r in result.requests]
    gaps_s = all_known([token_gaps_s(answer) for answer in result.completed])
    return {
        "latencies": [0.0 if answer is None else answer.e2e_s for answer in answers],
        "start_times": [request.sent_s for request in result.requests],
        "queue_times": None,
        "max_output_tokens_per_s": (
            None if gaps_s is None else float(token_rate_peak(result, gaps_s))
        ),
        "max_concurrent_requests": most_in_flight(result),
        "rtfx": 0.0,  # seconds of sound a second: none was sent
    }


def _drafting(result: RunResult) -> Keys:
    """Absent where an answer does not report its steps, as from a server that drafts nothing."""
    counted = [r for r in result.completed if r.verify_ct is not None]
    steps = sum(r.verify_ct or 0 for r in counted)
    if len(counted) < len(result.completed) or not steps:
        return {}
    if any(r.correct_drafts is None for r in counted):
        return {}
    accepted = sum(r.correct_drafts or 0 for r in counted)
    return {
        "spec_decode_acceptance_rate": None,
        "spec_decode_acceptance_length": 1.0 + accepted / steps,
        "spec_decode_num_drafts": steps,
        "spec_decode_draft_tokens": None,
        "spec_decode_accepted_tokens": accepted,
        "spec_decode_per_position_acceptance_rates": _shares(counted),
    }


def _shares(answers: list[RequestCompleted]) -> list[float]:
    """Of steps that accepted draft 1, 2, ...; empty where an answer has no histogram."""
    histograms = [answer.histogram or () for answer in answers]
    steps = sum(map(sum, histograms))
    if not all(histograms) or not steps:
        return []
    deepest = max(map(len, histograms))
    return [sum(sum(h[depth:]) for h in histograms) / steps for depth in range(1, deepest)]


def _statistics(result: RunResult) -> Keys:
    answers = result.completed
    gaps_s = all_known([chunk_gaps_s(answer) for answer in answers]) or ()
    found = {
        "ttft": [answer.ttft_s for answer in answers],
        "tpot": tpots_s(result),
        "itl": [gap for gaps in gaps_s for gap in gaps],
        "e2el": [answer.e2e_s for answer in answers],
    }
    return {
        f"{name}_{metric}_ms": value
        for metric, values_s in found.items()
        for name, value in statistics_ms(values_s, min(len(answers), len(values_s))).items()
    }
