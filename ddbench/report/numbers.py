"""Numbers as text. Milliseconds begin here."""

from collections.abc import Iterable

from ddbench.stats.interval import Interval

MS_PER_S = 1000.0
NOT_MEASURED = "-"
WIDEST = 1000.0
"""Times the value: of an upper bound beyond, as two unlike trials have it, no more is said."""
BY_DEFINITION = "1 (by definition)"


def load_text(concurrency: int | None, rate_per_s: float | None) -> str:
    """`8`, or `2.5/s` of an open loop."""
    if rate_per_s is not None:
        return f"{rate_per_s:g}/s"
    return NOT_MEASURED if concurrency is None else str(concurrency)


def load_header(loads: Iterable[float | None]) -> str:
    """Of a column of load_text, by the rates in it."""
    rates = [rate is not None for rate in loads]
    return (
        "rate" if rates and all(rates) else "concurrency or rate" if any(rates) else "concurrency"
    )


def interval_text(interval: Interval | None, *, scale: float = 1.0, units: str = "") -> str:
    """`3.26 [3.10, 3.42] n=48`, or without brackets where n allows no interval."""
    if interval is None:
        return NOT_MEASURED
    return " ".join(part for part in number_texts(interval, scale=scale, units=units) if part)


def short_interval_text(interval: Interval | None, *, scale: float = 1.0) -> str:
    """`3.26 3.10-3.42 n=48`, of quantities that cannot be negative."""
    if interval is None:
        return NOT_MEASURED
    parts = number_texts(interval, scale=scale, form="{low}-{high}")
    return " ".join(part for part in parts if part)


def number_texts(
    interval: Interval, *, scale: float = 1.0, units: str = "", form: str = "[{low}, {high}]"
) -> tuple[str, str, str]:
    """The value, its bounds ("" where n allows none), and `n=...`.

    Of a ratio, units "x", as many decimals as show on which side of 1 its interval ends.
    """
    value = interval.value * scale
    places = _decimals(value)
    if units == "x":
        places = interval.decimals_beside_1(places)
    bounds = ""
    if interval.low is not None and interval.high is not None:
        most = WIDEST * abs(interval.value)
        low, high = (f"{bound * scale:.{places}f}" for bound in (interval.low, interval.high))
        if interval.high > most > 0.0:
            high = f">{most * scale:.{places}f}"
        bounds = form.format(low=low, high=high)
    return f"{value:.{places}f}{units}", bounds, f"n={interval.n}"


def _decimals(value: float) -> int:
    """Three digits, and as many for the interval as for its value."""
    return 2 if abs(value) < 10.0 else 1 if abs(value) < 100.0 else 0
