"""The server's own cumulative counters, and the switch that empties its cache.

Sources: Prometheus text at /metrics (SGLang needs --enable-metrics), JSON at /server_info.
Counters appear with their first event, and a cache flush leaves them alone. vLLM's names are from
its source (v1/metrics) and were never seen; it has neither /server_info nor /flush_cache.
"""

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from ddbench.errors import ServerError
from ddbench.records import Counters
from ddbench.server.http import ask

_METRICS = {
    "spec_verify_calls": ("sglang:spec_verify_calls_total", "vllm:spec_decode_num_drafts_total"),
    "generation_tokens": ("sglang:generation_tokens_total", "vllm:generation_tokens_total"),
    "prompt_tokens": ("sglang:prompt_tokens_total", "vllm:prompt_tokens_total"),
    "retracted_requests": ("sglang:num_retracted_requests_total", "vllm:num_preemptions_total"),
}

FLUSH_RETRY_INTERVAL_S = 0.25


def read_counters(base_url: str, *, api_key: str | None = None) -> Counters:
    """Both sources at about the same moment; a counter that the server does not have is None.

    Raises ServerError when the server does not answer, or answers something unreadable.
    """
    metrics = ask(base_url, "/metrics", api_key=api_key)
    sums = _sums(metrics.text, base_url) if metrics.ok else {}
    is_vllm = any(name.startswith("vllm:") for name in sums)
    info = {} if is_vllm else read_server_info(base_url, api_key=api_key)
    return Counters(
        **{
            field: next((sums[name] for name in names if name in sums), None)
            for field, names in _METRICS.items()
        },
        avg_spec_accept_length=_accept_length(info),
    )


def read_server_info(base_url: str, *, api_key: str | None = None) -> dict[str, Any]:
    """What the server says of itself: its resolved arguments and internal state.

    Raises ServerError when it does not answer with a JSON object.
    """
    answer = ask(base_url, "/server_info", api_key=api_key)
    try:
        info = answer.json() if answer.ok else None
    except ValueError:
        info = None
    if not isinstance(info, dict):
        raise ServerError(
            f"{base_url}/server_info answered {answer.status_code} and no JSON object",
            remedy="Check that an SGLang server listens there.",
        )
    return info


def flush_cache(base_url: str, *, timeout_s: float = 30.0, api_key: str | None = None) -> bool:
    """Empty the prefix cache. A busy server refuses, so this asks again until `timeout_s`.

    False for a server that has no such route: what it cached stays, as `cached_tokens` will show.
    Raises ServerError with the server's last words.
    """
    deadline = time.monotonic() + timeout_s
    while not (answer := ask(base_url, "/flush_cache", method="POST", api_key=api_key)).ok:
        if answer.status_code == 404:
            return False
        if time.monotonic() > deadline:
            raise ServerError(
                f"the server would not flush its cache: {answer.status_code} {answer.text.strip()}",
                remedy="Check that no other client sends it requests.",
            )
        time.sleep(FLUSH_RETRY_INTERVAL_S)
    return True


def _sums(text: str, base_url: str) -> Mapping[str, float]:
    """Each sample summed over its labels (ranks, streaming or not)."""
    sums: dict[str, float] = defaultdict(float)
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                sums[sample.name] += sample.value
    except ValueError as cause:
        raise ServerError(
            f"{base_url}/metrics is not Prometheus text: {cause}",
            remedy="Check that an SGLang server listens there.",
        ) from cause
    return sums


def _accept_length(info: Mapping[str, Any]) -> float | None:
    """None unless one rank reports it: averages without denominators cannot be joined."""
    states = info.get("internal_states")
    said = [
        state["avg_spec_accept_length"]
        for state in (states if isinstance(states, list) else [])
        if isinstance(state, dict) and state.get("avg_spec_accept_length") is not None
    ]
    return float(said[0]) if len(said) == 1 else None
