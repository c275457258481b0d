"""AIPerf's profile export: see the reader that follows."""

from ddbench.records import ToolResult
from ddbench.runs.foreign.entry import Entry

KEYS = ("input_config", "request_throughput", "request_latency")


def matches(entry: Entry) -> bool:
    return entry.has(*KEYS)


def read(_: Entry) -> ToolResult:
    return ToolResult("AIPerf", seen=False)
