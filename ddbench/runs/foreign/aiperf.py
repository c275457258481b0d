"""AIPerf's summary, profile_export_aiperf.json: one JSON object a run, a block of figures a metric.

Source: a file written by AIPerf 0.13.0, and its documented schema.

Output tokens are those of the text under the tool's own tokenizer; what the server said of itself
is kept beside them.

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
        seen=True,
        asked_concurrency=None if load is None else load.count("concurrency"),
        achieved_concurrency=_one(entry, "effective_concurrency"),
        request_rate_per_s=None if load is None else load.number("rate"),
        completed=None if completed is None else round(completed),
        failed=0 if errors is None and completed is not None else _whole(errors),
        duration_s=_one(entry, "benchmark_duration"),
        input_tokens=_whole(_one(entry, "total_isl")),
        output_tokens=_whole(_one(entry, "total_osl")),
        recounted_output_tokens=_whole(_one(entry, "total_usage_completion_tokens")),
        requests_per_s=_one(entry, "request_throughput"),
        input_tokens_per_s=_one(entry, "input_token_throughput"),
        output_tokens_per_s=_one(entry, "output_token_throughput"),
        tokens_per_s=_one(entry, "total_token_throughput"),
        percentiles=_percentiles(entry),
        itl_counts_chunks=True,
    )


def _load(entry: Entry) -> Entry | None:
    """The settings of the phase that was measured."""
    config = entry.inner("input_config")
    if config is None:
        return None
    for phase in config.values("phases") or ():
        if isinstance(phase, dict) and phase.get("kind") == "profiling":
            return Entry(phase, f"{config.where}, phases")
    return None


def _one(entry: Entry, metric: str) -> float | None:
    block = entry.inner(metric)
    return None if block is None else block.finite("avg")


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
