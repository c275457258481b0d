"""Cumulative counters of finished requests, and /metrics as SGLang 0.5.23 names them.

A counter that has never been counted is absent, as it is from a Prometheus client with labels.
Health checks are not counted.

Source: sglang/srt/observability/metrics_collector.py (0.5.23), observe_one_finished_request.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ddbench.engine.generation import Generation

_BY_STREAM = {
    "sglang:prompt_tokens_total": "Number of prefill tokens processed.",
    "sglang:generation_tokens_total": "Number of generation tokens processed.",
    "sglang:num_requests_total": "Number of requests processed.",
}


@dataclass(frozen=True, slots=True)
class Gauge:
    name: str
    description: str
    value: float


@dataclass(slots=True)
class RequestCounters:
    """Written by the scheduler's thread when a request ends."""

    by_stream: Counter[tuple[str, bool]] = field(default_factory=Counter)
    verify_calls: int = 0
    aborted: int = 0

    def count(self, generation: Generation) -> None:
        request = generation.request
        if request.is_health_check:
            return
        counted = {
            "sglang:prompt_tokens_total": generation.prompt_len,
            "sglang:generation_tokens_total": len(generation.output_ids),
            "sglang:num_requests_total": 1,
        }
        for name, value in counted.items():
            self.by_stream[name, request.streaming] += value
        self.verify_calls += generation.verify_ct
        if generation.finish is not None and generation.finish.kind == "abort":
            self.aborted += 1


def prometheus_text(counters: RequestCounters, gauges: Iterable[Gauge], model_name: str) -> str:
    return "\n".join(_lines(counters, gauges, model_name)) + "\n"


def _lines(counters: RequestCounters, gauges: Iterable[Gauge], model_name: str) -> Iterator[str]:
    escaped = model_name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    model = f'model_name="{escaped}"'
    rank = f'engine_type="unified",{model},moe_ep_rank="0",pp_rank="0",tp_rank="0"'
    for name, description in _BY_STREAM.items():
        streams = [streaming for counted, streaming in counters.by_stream if counted == name]
        if streams:
            yield from _head(name, description, "counter")
        for streaming in sorted(streams):
            labels = f'engine_type="unified",is_streaming="{str(streaming).lower()}",{model}'
            yield f"{name}{{{labels}}} {float(counters.by_stream[name, streaming])}"
    for name, description, total in (
        (
            "sglang:spec_verify_calls_total",
            "Number of speculative decoding verification calls.",
            counters.verify_calls,
        ),
        ("sglang:num_aborted_requests_total", "Number of requests aborted.", counters.aborted),
    ):
        if total:
            yield from _head(name, description, "counter")
            yield f'{name}{{engine_type="unified",{model}}} {float(total)}'
    for gauge in gauges:
        yield from _head(gauge.name, gauge.description, "gauge")
        yield f"{gauge.name}{{{rank}}} {float(gauge.value)}"


def _head(name: str, description: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {description}", f"# TYPE {name} {kind}"
