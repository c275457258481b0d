"""What SGLang's and vLLM's serving benchmarks write under one name, since one came of the other."""

from ddbench.records import ToolResult
from ddbench.runs.foreign.entry import Entry


def shared_figures(entry: Entry, *, tool: str, seen: bool) -> ToolResult:
    """Their common keys. Raises LogFormatError for a field of another kind."""
    return ToolResult(
        tool=tool,
        seen=seen,
        asked_concurrency=entry.count("max_concurrency"),
        completed=entry.count("completed"),
        duration_s=entry.finite("duration"),
        input_tokens=entry.count("total_input_tokens"),
        output_tokens=entry.count("total_output_tokens"),
        requests_per_s=entry.finite("request_throughput"),
        output_tokens_per_s=entry.finite("output_throughput"),
    )
