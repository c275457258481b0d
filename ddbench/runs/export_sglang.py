"""As SGLang's `bench_serving --output-details` appends it: one JSON line a trial, all of its keys.

Source: sglang 0.5.23, sglang/benchmark/serving.py (benchmark, calculate_metrics).

null is what ddbench did not measure: counts by another tokenizer; times between tokens where a
chunk held several, as every chunk of a drafting server does, and what follows from them;
percentiles of too few requests. `tag` is the arm, `dataset_name` the prompts, and a closed loop has
SGLang's bare Infinity as its rate. max_concurrent_requests counts what touches one second, as
theirs does, and may exceed the concurrency.
"""

import json
from typing import TextIO

from ddbench.records import RunResult
from ddbench.runs.export_figures import (
    PERCENTILES,
    all_known,
    chunk_gaps_s,
    details,
    lengths_asked,
    most_in_a_second,
    statistics_ms,
    timed_trials,
    token_gaps_s,
    token_rate_peak,
    totals,
    tpots_s,
)
from ddbench.runs.store import RunStore

BACKENDS = {"generate": "sglang", "completions": "sglang-oai", "chat": "sglang-oai-chat"}
STATISTICS = ("mean", "median", "std", *(f"p{percentile}" for percentile in PERCENTILES))

Keys = dict[str, object]


def export_sglang(store: RunStore, stream: TextIO) -> int:
    """Write one line a trial that may be timed; returns how many."""
    trials = list(timed_trials(store))
    asked = lengths_asked(trials)
    servers = {launch.server: launch.environment.facts for launch in store.launches()}
    for result in trials:
        said = servers.get(result.trial.server, {}).get("server.args")
        keys = _arguments(result) | {"server_info": None if said is None else json.loads(said)}
        gaps_s = token_gaps_s if result.trial.load.route == "generate" else chunk_gaps_s
        keys |= _results(result) | details(result, asked, gaps_s)
        stream.write(json.dumps(keys) + "\n")
    return len(trials)


def _arguments(result: RunResult) -> Keys:
    """Lengths of random prompts are None: there are none here."""
    load = result.trial.load
    return {
        "tag": result.trial.arm,
        "backend": BACKENDS[load.route],
        "dataset_name": load.prompts,
        "request_rate": float("inf") if load.rate_per_s is None else load.rate_per_s,
        "max_concurrency": load.concurrency or None,
        "sharegpt_output_len": load.max_new_tokens,
        "random_input_len": None,
        "random_output_len": None,
        "random_range_ratio": None,
    }


def _results(result: RunResult) -> Keys:
    sums, answers = totals(result), result.completed
    gaps_s = _gaps_s(result)
    one_token_chunks = all_known([token_gaps_s(answer) for answer in answers])
    peak = None if one_token_chunks is None else token_rate_peak(result, one_token_chunks)
    return {
        "duration": sums.duration_s,
        "completed": sums.completed,
        "total_input_tokens": sums.input_tokens,
        "total_input_text_tokens": sums.input_tokens,
        "total_input_vision_tokens": 0,  # ddbench sends text alone
        "total_output_tokens": sums.output_tokens,
        "total_output_tokens_retokenized": None,
        "request_throughput": sums.per_s(sums.completed),
        "input_throughput": sums.per_s(sums.input_tokens),
        "output_throughput": sums.per_s(sums.output_tokens),
        "total_throughput": sums.per_s(sums.input_tokens + sums.output_tokens),
        **_statistics("e2e_latency_ms", [answer.e2e_s for answer in answers], sums.completed),
        **_statistics("ttft_ms", [answer.ttft_s for answer in answers], sums.completed),
        **_statistics("tpot_ms", tpots_s(result), len(tpots_s(result))),
        **_statistics("itl_ms", [gap for gaps in gaps_s or () for gap in gaps], sums.completed),
        "concurrency": sum(answer.e2e_s for answer in answers) / sums.duration_s,
        "accept_length": result.counters_after.avg_spec_accept_length,
        "max_output_tokens_per_s": None if peak is None else float(peak),
        "max_concurrent_requests": most_in_a_second(result),
    }


def _statistics(metric: str, values_s: list[float], requests: int) -> Keys:
    found = statistics_ms(values_s, requests)
    return {f"{name}_{metric}": found.get(name) for name in STATISTICS}


def _gaps_s(result: RunResult) -> list[list[float]] | None:
    """What the tool averages as ITL: between tokens; on OpenAI routes between chunks, which it
    counts again by a tokenizer where the server drafts."""
    drafts = result.counters_after.avg_spec_accept_length is not None
    gaps = token_gaps_s if drafts or result.trial.load.route == "generate" else chunk_gaps_s
    return all_known([gaps(answer) for answer in result.completed])
