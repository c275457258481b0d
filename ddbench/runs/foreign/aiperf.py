"""AIPerf's summary, profile_export_aiperf.json: one JSON object a run, a block of figures a metric.

Source: a file written by AIPerf; its documented schema.

A metric has unit, avg, min, max, std, percentiles and, where records were counted, count and sum; a
metric that is one number has it as avg. "inter_token_latency" is (E2E - TTFT)/(n - 1) of a request,
which others call TPOT; the time between chunks is another metric. Its acceptance figures exist for
vLLM alone.
"""

from collections.abc import Mapping

from ddbench.records import ToolResult
from ddbench.runs.foreign.entry import Entry

KEYS = ("schema_version", "aiperf_version", "input_config")
METRICS = {
    "time_to_first_token": "ttft_ms",
    "request_latency": "e2e_latency_ms",
    "inter_token_latency": "tpot_ms",
    "inter_chunk_latency": "itl_ms",
}
STATISTICS = {
    "avg": "mean",
    "p50": "median",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
    "max": "max",
    "std": "std",
}
MS_PER = {"ms": 1.0, "sec": 1e3, "s": 1e3, "us": 1e-3, "ns": 1e-6}


def matches(entry: Entry) -> bool:
    return entry.has(*KEYS)


def read(entry: Entry) -> ToolResult:
    errors = _one(entry, "error_request_count")
    completed = _one(entry, "request_count")
    load = _load(entry)
    return ToolResult(
        tool="AIPerf",
        seen=SEEN,
        asked_concurrency=None if load is None else load.count("concurrency"),
        request_rate_per_s=None if load is None else load.number("request_rate"),
        completed=None if completed is None else round(completed),
        failed=0 if errors is None and completed is not None else _whole(errors),
        duration_s=_one(entry, "benchmark_duration"),
        input_tokens=_whole(_sum(entry, "input_sequence_length")),
        output_tokens=_whole(_sum(entry, "output_sequence_length")),
        requests_per_s=_one(entry, "request_throughput"),
        output_tokens_per_s=_one(entry, "output_token_throughput"),
        percentiles=_percentiles(entry),
        itl_counts_chunks=True,
    )


SEEN = False


def _load(entry: Entry) -> Entry | None:
    config = entry.inner("input_config")
    return None if config is None else config.inner("loadgen")


def _one(entry: Entry, metric: str) -> float | None:
    block = entry.inner(metric)
    return None if block is None else block.finite("avg")


def _sum(entry: Entry, metric: str) -> float | None:
    block = entry.inner(metric)
    return None if block is None else block.finite("sum")


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _percentiles(entry: Entry) -> Mapping[str, Mapping[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for theirs, ours in METRICS.items():
        block = entry.inner(theirs)
        if block is None:
            continue
        unit = block.text("unit")
        if unit not in MS_PER:
            raise block.wrong("unit", f"one of {', '.join(MS_PER)}")
        values = {name: block.finite(key) for key, name in STATISTICS.items()}
        found[ours] = {n: v * MS_PER[unit] for n, v in values.items() if v is not None}
    return found
