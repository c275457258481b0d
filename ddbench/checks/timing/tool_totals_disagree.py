from collections.abc import Iterator
from itertools import pairwise

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import TOOL
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule
from ddbench.records import ToolResult

SHARE = 0.01  # the tools round their rates to two decimals
ROUNDED = 0.006


@rule(
    "DDB210",
    "tool-totals-disagree",
    Severity.ERROR,
    remedy="Compute rates from the file's own totals and duration, and find what it leaves out.",
    needs=(TOOL,),
)
def tool_totals_disagree(evidence: Evidence) -> Iterator[Outcome]:
    """A rate that a tool wrote is its total over its duration, and an order of values holds.

    ## Why it matters
    A file that was edited, merged from two runs, or written by a fork of the tool may hold rates of
    one run and totals of another. Nothing else in it shows that.

    ## How it is computed
    Requests, input, output and all tokens per second, each times the duration, equal the counts,
    within 1 % and the rounding of a rate to two decimals. Of each metric, median <= p90 <= p95 <=
    p99 <= maximum, and the mean does not exceed the maximum. The median TTFT does not exceed the
    median latency.

    ## Example
    Bad: 480 tok/s of output in 10 s, and 3,072 output tokens.
    Good: 307.2 tok/s in 10 s, and 3,072 output tokens.
    """
    if (tool := evidence.tool) is None:
        return
    odd = [*_rates(tool), *_orders(tool)]
    if odd:
        yield some_of(odd, len(odd), "figures")


def _rates(tool: ToolResult) -> Iterator[str]:
    if not tool.duration_s:
        return
    both = None
    if tool.input_tokens is not None and tool.output_tokens is not None:
        both = tool.input_tokens + tool.output_tokens
    for what, rate, total in (
        ("requests", tool.requests_per_s, tool.completed),
        ("input tokens", tool.input_tokens_per_s, tool.input_tokens),
        ("output tokens", tool.output_tokens_per_s, tool.output_tokens),
        ("tokens", tool.tokens_per_s, both),
    ):
        if rate is None or total is None:
            continue
        counted = total / tool.duration_s
        if abs(rate - counted) > SHARE * counted + ROUNDED:
            given = f"{total} in {tool.duration_s:.2f} s"
            yield f"{rate:.2f} {what}/s, though {given} are {counted:.2f}"


def _orders(tool: ToolResult) -> Iterator[str]:
    for metric, values in tool.percentiles.items():
        ordered = [(n, values[n]) for n in ("median", "p90", "p95", "p99", "max") if n in values]
        for (lower, small), (higher, large) in pairwise(ordered):
            if small > large * (1.0 + 1e-9):
                yield f"{lower} of {metric} is {small:.2f} and {higher} {large:.2f}"
        if "mean" in values and "max" in values and values["mean"] > values["max"] * (1.0 + 1e-9):
            yield f"mean of {metric} is {values['mean']:.2f} and its maximum {values['max']:.2f}"
    first = tool.percentiles.get("ttft_ms", {}).get("median")
    whole = tool.percentiles.get("e2e_latency_ms", {}).get("median")
    if first is not None and whole is not None and first > whole * (1.0 + 1e-9):
        yield f"median TTFT {first:.2f} ms is more than median latency {whole:.2f} ms"
