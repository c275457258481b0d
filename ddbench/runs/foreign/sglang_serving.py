"""SGLang's `bench_serving`: JSON lines, one object a run, bare Infinity and all.

Source: files written by SGLang 0.5.23 (python -m sglang.benchmark.serving).

accept_length is what /server_info says of its first data-parallel rank when the run is over: a mean
over all steps since the server was started or flushed. The tool reads each answer's own acceptance
and writes none of it. Times of single requests stand in the file with --output-details alone.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import repeat
from typing import Any

from ddbench.records import RequestCompleted, RequestFailed, RequestOutcome, ToolResult
from ddbench.runs.foreign.entry import Entry, statistics
from ddbench.runs.foreign.serving import shared_figures

METRICS = {name: name for name in ("e2e_latency_ms", "ttft_ms", "tpot_ms", "itl_ms")}
STATISTICS = ("mean", "median", "std", "p90", "p95", "p99")
NATIVE = (
    "sglang",
    "sglang-native",
)  # its own route, where the tool spreads a chunk over its tokens
KEYS = ("backend", "random_range_ratio", "sharegpt_output_len", "completed")


def matches(entry: Entry) -> bool:
    return entry.has(*KEYS)


def read(entry: Entry) -> ToolResult:
    info = entry.inner("server_info")
    is_trace = entry.fields.get("request_rate") == "trace"
    requests = _requests(entry)
    return replace(
        shared_figures(entry, tool="SGLang bench_serving", seen=True),
        dataset=entry.text("dataset_name"),
        achieved_concurrency=entry.finite("concurrency"),
        request_rate_per_s=None if is_trace else entry.number("request_rate"),
        failed=sum(isinstance(r, RequestFailed) for r in requests) if requests else None,
        recounted_output_tokens=entry.count("total_output_tokens_retokenized"),
        input_tokens_per_s=entry.finite("input_throughput"),
        tokens_per_s=entry.finite("total_throughput"),
        percentiles=statistics(entry, METRICS, STATISTICS),
        accept_length=entry.finite("accept_length"),
        accept_length_is_lifetime=True,
        itl_counts_chunks=entry.text("backend") not in NATIVE,
        server_version=None if info is None else info.text("version"),
        settings=_settings(info),
        requests=requests,
    )


def _settings(info: Entry | None) -> Mapping[str, str]:
    """The plain values of a /server_info answer, as text."""
    if info is None:
        return {}
    return {
        name: str(value)
        for name, value in info.fields.items()
        if value is None or isinstance(value, str | int | float)
    }


def _requests(entry: Entry) -> tuple[RequestOutcome, ...]:
    """Of a file with --output-details; empty without. Its times are seconds."""
    prompts, outputs = entry.numbers("input_lens"), entry.numbers("output_lens")
    ttfts_s, gaps = entry.numbers("ttfts"), entry.values("itls")
    texts, errors = entry.values("generated_texts"), entry.values("errors")
    if prompts is None or outputs is None or ttfts_s is None or gaps is None:
        return ()
    columns = {"output_lens": outputs, "ttfts": ttfts_s, "itls": gaps}
    optional = {"generated_texts": texts, "errors": errors}
    for name, values in (columns | optional).items():
        if values is not None and len(values) != len(prompts):
            raise entry.wrong(name, f"a list of {len(prompts)}, as input_lens is")
    rows = zip(
        prompts, outputs, ttfts_s, gaps, texts or repeat(None), errors or repeat(None), strict=False
    )
    return tuple(_request(entry, number, *row) for number, row in enumerate(rows, start=1))


def _request(
    entry: Entry,
    number: int,
    prompt: float,
    output: float,
    ttft_s: float,
    gaps: Any,
    text: Any,
    error: Any,
) -> RequestOutcome:
    name = f"request {number}"
    if error:
        return RequestFailed(name, 0.0, 0.0, str(error)[:200])
    gaps_s = Entry({"itls": gaps}, f"{entry.where}, {name}").numbers("itls") or ()
    return RequestCompleted(
        prompt_id=name,
        sent_s=0.0,  # not in the file
        lateness_s=0.0,
        ttft_s=ttft_s,
        e2e_s=ttft_s + sum(gaps_s),
        prompt_tokens=int(prompt),
        completion_tokens=int(output),
        output_ids=None,
        output_logprobs=None,
        finish_reason="unknown",
        retractions=None,
        cached_tokens=None,
        verify_ct=None,
        correct_drafts=None,
        committed_drafts=None,
        histogram=None,
        text=text if isinstance(text, str) else None,
    )
