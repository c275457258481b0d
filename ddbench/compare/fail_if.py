"""`--fail-if "tokens_per_step < 0.98"`: a condition on the bounds of a measured ratio."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from ddbench.compare.pairing import Ratios
from ddbench.errors import NotComparable
from ddbench.stats.interval import Interval

Bound = Literal["low", "high", "value"]

METRICS = tuple(field.name for field in fields(Ratios))

_CONDITION = re.compile(
    r"\s*(?P<metric>\w+)(\.(?P<bound>low|high|value))?(@(?P<concurrency>\d+))?"
    r"\s*(?P<operator><=?|>=?)\s*(?P<limit>\d+(\.\d+)?)\s*"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """`METRIC[.low|.high|.value][@CONCURRENCY] < NUMBER`, of the ratio tree over linear.

    Without a bound it holds when the whole interval lies on that side: `<` looks at the upper
    bound and `>` at the lower, so that noise alone fails no build. `.low <` is the strict form:
    it fails unless the interval is known to lie above.
    """

    text: str
    metric: str
    bound: Bound
    concurrency: int | None
    operator: str
    limit: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One condition at one arm and concurrency. number: the bound; None where there is none.

    concurrency: None where the arm was compared at none.
    """

    condition: Condition
    arm: str
    concurrency: int | None
    number: float | None
    holds: bool | None  # None: cannot be told

    def __str__(self) -> str:
        if self.concurrency is None:
            return f"{self.condition.text} ({self.arm}: not compared)"
        where = f"{self.arm} at concurrency {self.concurrency}"
        shown = "not known" if self.number is None else f"{self.number:.4g}"
        return f"{self.condition.text} ({where}: {self.condition.bound} {shown})"


def read_condition(text: str) -> Condition:
    """Raises NotComparable where it cannot be read."""
    match = _CONDITION.fullmatch(text)
    if match is None or match["metric"] not in METRICS:
        raise NotComparable(
            f"cannot read the condition {text!r}",
            remedy=f'Write it like "tokens_per_step < 0.98"; metrics: {", ".join(METRICS)}.',
        )
    below = match["operator"].startswith("<")
    return Condition(
        text=" ".join(text.split()),
        metric=match["metric"],
        bound=_bound(match["bound"], below=below),
        concurrency=int(match["concurrency"]) if match["concurrency"] else None,
        operator=match["operator"],
        limit=float(match["limit"]),
    )


def judge(
    conditions: Sequence[Condition],
    measured: Mapping[tuple[str, int], Ratios],
    left_out: Collection[tuple[str, int | None]] = (),
) -> list[Judged]:
    """Each condition at every arm and concurrency that it speaks of.

    left_out: arm and concurrency (None: any) that were to be compared and could not be: what
    nobody measured passes no gate.

    Raises NotComparable for a condition that speaks of nothing that was compared.
    """
    judged = []
    for condition in conditions:
        cells = [
            key
            for key in measured
            if condition.concurrency is None or key[1] == condition.concurrency
        ]
        if not cells:
            raise NotComparable(
                f"nothing was compared that {condition.text!r} speaks of",
                remedy="Name a concurrency that both arms ran.",
            )
        judged += [_judge(condition, key, measured[key]) for key in cells]
        judged += [
            Judged(condition, arm, concurrency, None, None)
            for arm, concurrency in left_out
            if None in (concurrency, condition.concurrency) or concurrency == condition.concurrency
        ]
    return judged


def _judge(condition: Condition, key: tuple[str, int], ratios: Ratios) -> Judged:
    interval: Interval | None = getattr(ratios, condition.metric)
    number = None if interval is None else _number(interval, condition.bound)
    holds = None if number is None else _compare(number, condition.operator, condition.limit)
    return Judged(condition, *key, number, holds)


def _number(interval: Interval, bound: Bound) -> float | None:
    match bound:
        case "low":
            return interval.low
        case "high":
            return interval.high
        case "value":
            return interval.value


def _compare(number: float, operator: str, limit: float) -> bool:
    match operator:
        case "<":
            return number < limit
        case "<=":
            return number <= limit
        case ">":
            return number > limit
        case _:
            return number >= limit


def _bound(name: str | None, *, below: bool) -> Bound:
    match name:
        case "low" | "high" | "value":
            return name
        case _:
            return "high" if below else "low"
