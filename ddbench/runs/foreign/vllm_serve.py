"""vLLM's `vllm bench serve`: one JSON object a run. Never seen: known from its source (0.33.0).

Acceptance is the gain of counters over the run: the length is 1 + accepted/steps, in which the
bonus token is assumed and not counted; the rate is a percentage. An infinite rate is "inf".
"""

from dataclasses import replace

from ddbench.records import ToolResult
from ddbench.runs.foreign.entry import Entry, statistics
from ddbench.runs.foreign.serving import shared_figures

METRICS = {
    "ttft_ms": "ttft_ms",
    "tpot_ms": "tpot_ms",
    "itl_ms": "itl_ms",
    "e2el_ms": "e2e_latency_ms",
}
STATISTICS = ("mean", "median", "std", "p50", "p90", "p95", "p99")
KEYS = ("endpoint_type", "model_id", "tokenizer_id", "completed", "duration")


def matches(entry: Entry) -> bool:
    return entry.has(*KEYS)


def read(entry: Entry) -> ToolResult:
    percent = entry.finite("spec_decode_acceptance_rate")
    return replace(
        shared_figures(entry, tool="vLLM bench serve", seen=False),
        request_rate_per_s=entry.number("request_rate"),
        failed=entry.count("failed"),
        tokens_per_s=entry.finite("total_token_throughput"),
        percentiles=statistics(entry, METRICS, STATISTICS),
        accept_length=entry.finite("spec_decode_acceptance_length"),
        accept_rate=None if percent is None else percent / 100.0,
        draft_steps=entry.count("spec_decode_num_drafts"),
        drafted_tokens=entry.count("spec_decode_draft_tokens"),
        accepted_tokens=entry.count("spec_decode_accepted_tokens"),
        position_rates=entry.numbers("spec_decode_per_position_acceptance_rates") or (),
        itl_counts_chunks=True,
    )
