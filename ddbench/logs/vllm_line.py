"""vLLM's periodic lines about speculative decoding and load.

v0 writes `Speculative metrics: ...` with counts since the server started. v1 writes
`SpecDecoding metrics: ...` with counts of the interval, first as a rate, later as a mean acceptance
length with optional rates by position. How many requests ran is on another line, the one before.
vLLM's stamps have no year, so there is no time in these records.

Source: vllm/spec_decode/metrics.py (v0); vllm/v1/spec_decode/metrics.py and v1/metrics/loggers.py.
The forms are known from there; no line was captured from a running vLLM.
"""

import re
from dataclasses import dataclass

from ddbench.logs.fields import has_no_value, integer, number, read_fields, unreadable
from ddbench.logs.line_text import visible_text
from ddbench.logs.prefix import read_prefix

VLLM_NEEDLES = (" metrics: ", "Avg generation throughput")

_PER_POSITION = re.compile(r"Per-position acceptance rate: ((?:[0-9.]+(?:, )?)*)")
_ENGINE = re.compile(r"Engine ([0-9]{1,6}):")
_SPEC_FIELDS = {
    "mean acceptance length": "mean acceptance length",
    "number of speculative tokens": "speculative tokens",
    "number of accepted tokens": "accepted",
    "accepted": "accepted",
    "number of draft tokens": "drafted",
    "drafted": "drafted",
    "number of emitted tokens": "emitted",
    "draft acceptance rate": "rate",
    "avg draft acceptance rate": "rate",
}
_LOAD_FIELDS = {
    "avg generation throughput": "throughput",
    "running": "running",
    "waiting": "waiting",
}


@dataclass(frozen=True, slots=True)
class VllmSpecWindow:
    """Drafting of one interval, or since the start when `cumulative`.

    mean_acceptance_length counts the bonus token: 1 + accepted / steps. The acceptance rate is
    accepted over drafted tokens; v0 prints a fraction, v1 a percentage, and each stays what it is.
    per_position_rates: share of steps whose draft at that position was accepted.
    """

    source: str
    cumulative: bool
    mean_acceptance_length: float | None
    accepted_tokens: int | None
    drafted_tokens: int | None
    emitted_tokens: int | None
    speculative_tokens: int | None
    acceptance_fraction: float | None
    acceptance_percent: float | None
    per_position_rates: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class VllmLoadWindow:
    """`engine` is the number that vLLM gives the engine, as text; "" when it gives none."""

    source: str
    engine: str
    running_requests: int | None
    waiting_requests: int | None
    throughput_tokens_per_s: float | None


def parse_vllm_spec_line(line: str) -> VllmSpecWindow | None:
    """Return the drafting that `line` reports, or None for any other kind of line.

    Raises LogFormatError, quoting the line, when a field is there and cannot be read.
    """
    for head, cumulative in (("SpecDecoding metrics:", False), ("Speculative metrics:", True)):
        if head in line:
            before, _, text = visible_text(line).partition(head)
            return _spec_window(before, text, line, cumulative=cumulative)
    return None


def _spec_window(before: str, text: str, line: str, *, cumulative: bool) -> VllmSpecWindow | None:
    positions = _PER_POSITION.search(text)
    values = read_fields(text, lambda key: _SPEC_FIELDS.get(key.strip().lower()), line)
    if not values:
        return None
    rate, is_percent = values.get("rate", ""), values.get("rate", "").endswith("%")
    rates = {} if has_no_value(rate) else {"rate": rate.removesuffix("%")}
    shares = number(rates, "rate", line)
    return VllmSpecWindow(
        source=read_prefix(before).source,
        cumulative=cumulative,
        mean_acceptance_length=number(values, "mean acceptance length", line),
        accepted_tokens=integer(values, "accepted", line),
        drafted_tokens=integer(values, "drafted", line),
        emitted_tokens=integer(values, "emitted", line),
        speculative_tokens=integer(values, "speculative tokens", line),
        acceptance_fraction=None if is_percent else shares,
        acceptance_percent=shares if is_percent else None,
        per_position_rates=() if positions is None else _rates(positions[1], line),
    )


def _rates(text: str, line: str) -> tuple[float, ...]:
    rates = [number({"rate": rate}, "rate", line) for rate in text.rstrip(", ").split(", ") if rate]
    known = tuple(rate for rate in rates if rate is not None)
    if len(known) != len(rates):
        raise unreadable("a position without a rate", line)
    return known


def parse_vllm_load_line(line: str) -> VllmLoadWindow | None:
    """Return the load that `line` reports, or None for any other kind of line.

    Raises LogFormatError, quoting the line, when a field is there and cannot be read.
    """
    if "Avg generation throughput" not in line:
        return None
    text = visible_text(line)
    values = read_fields(text, lambda key: _LOAD_FIELDS.get(key.strip().lower()), line)
    if not values:
        return None
    engine = _ENGINE.search(text)
    return VllmLoadWindow(
        source=read_prefix(text).source,
        engine="" if engine is None else engine[1],
        running_requests=integer(values, "running", line),
        waiting_requests=integer(values, "waiting", line),
        throughput_tokens_per_s=number(values, "throughput", line),
    )
