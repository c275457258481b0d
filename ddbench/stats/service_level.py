"""`tpot_s<0.02,ttft_s<1`: what a service promises, as a user writes it.

A limit is of the mean unless it names a percentile: `ttft_s.p95<1`. Which one is always said.
"""

import re
from dataclasses import dataclass
from typing import Literal

from ddbench.errors import NotComparable

Metric = Literal["tpot_s", "ttft_s", "e2e_s"]
METRICS: tuple[Metric, ...] = ("tpot_s", "ttft_s", "e2e_s")
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}

_LIMIT = re.compile(
    r"\s*(?P<name>[a-z0-9]+)_(?P<unit>s|ms)(\.(?P<statistic>\w+))?\s*<=?\s*"
    r"(?P<below>\d+(\.\d*)?([eE]-?\d+)?|\.\d+)\s*"
)


@dataclass(frozen=True, slots=True)
class Limit:
    """A metric that must stay below a number of seconds. share: of a percentile; None: the mean."""

    metric: Metric
    share: float | None
    below_s: float

    @property
    def statistic(self) -> str:
        return "mean" if self.share is None else f"p{100 * self.share:.0f}"

    def __str__(self) -> str:
        return f"{self.statistic} {self.metric} < {self.below_s:g}"


def read_limits(text: str) -> tuple[Limit, ...]:
    """The limits that `text` lists, separated by commas. Milliseconds: `tpot_ms<20`.

    Raises NotComparable where one cannot be read, or two are of one metric and statistic.
    """
    limits = tuple(_read(part) for part in text.split(","))
    if len({(limit.metric, limit.share) for limit in limits}) < len(limits):
        raise NotComparable(
            f"--slo {text!r} limits one number twice", remedy="Keep the stricter limit."
        )
    return limits


def _read(part: str) -> Limit:
    match = _LIMIT.fullmatch(part)
    if match is None:
        raise _unreadable(part)
    metric = next((m for m in METRICS if m == f"{match['name']}_s"), None)
    statistic = match["statistic"] or "mean"
    if metric is None or statistic not in ("mean", *PERCENTILES):
        raise _unreadable(part)
    below = float(match["below"]) / (1000.0 if match["unit"] == "ms" else 1.0)
    if below <= 0.0:
        raise _unreadable(part)
    return Limit(metric, PERCENTILES.get(statistic), below)


def _unreadable(part: str) -> NotComparable:
    return NotComparable(
        f"--slo {part.strip()!r} is no limit",
        remedy=f"Write METRIC<SECONDS with a metric of {', '.join(METRICS)}, like "
        f"`tpot_s<0.02,ttft_s<1`; the mean is meant, or METRIC.p50, .p90, .p95 or .p99.",
    )
