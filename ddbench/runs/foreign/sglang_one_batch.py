"""SGLang's `one_batch_server`: JSON lines, one object a batch size.

Source: files written by SGLang 0.5.23 (python -m sglang.benchmark.one_batch_server).

acc_length is the server's life-time mean over its last rank, and -1 where nothing is drafted or
/server_info does not say it. Prompts are random tokens, on which drafters do badly.
"""

from dataclasses import replace

from ddbench.records import ToolResult
from ddbench.runs.foreign.entry import Entry

NOT_MEASURED = -1
KEYS = ("run_name", "batch_size", "acc_length", "last_gen_throughput")


def matches(entry: Entry) -> bool:
    return entry.has(*KEYS)


def read(entry: Entry) -> ToolResult:
    batch, length = entry.count("batch_size"), entry.count("output_len")
    prompt = entry.count("input_len")
    ttft_s = entry.finite("last_ttft")
    result = ToolResult(
        tool="SGLang one_batch_server",
        seen=True,
        dataset="random tokens",
        asked_concurrency=batch,
        completed=batch,
        duration_s=entry.finite("latency"),
        input_tokens=None if batch is None or prompt is None else batch * prompt,
        output_tokens=entry.count("total_output_tokens"),
        tokens_per_s=entry.finite("overall_throughput"),
        percentiles={} if ttft_s is None else {"ttft_ms": {"max": 1e3 * ttft_s}},
        accept_length_is_lifetime=True,
    )
    if result.output_tokens is None and batch is not None and length is not None:
        result = replace(result, output_tokens=batch * length)
    if entry.fields["acc_length"] == NOT_MEASURED:
        return result
    return replace(result, accept_length=entry.finite("acc_length"))
