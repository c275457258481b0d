"""Numbers as text. Milliseconds begin here."""

from ddbench.stats.interval import Interval

MS_PER_S = 1000.0
NOT_MEASURED = "-"
BY_DEFINITION = "1 (by definition)"


def interval_text(interval: Interval | None, *, scale: float = 1.0, units: str = "") -> str:
    """`3.26 [3.10, 3.42] n=48`, or without brackets where n allows no interval."""
    return _text(interval, scale, units, " [{low}, {high}]")


def short_interval_text(interval: Interval | None, *, scale: float = 1.0) -> str:
    """`3.26 3.10-3.42 n=48`, of quantities that cannot be negative."""
    return _text(interval, scale, "", " {low}-{high}")


def _text(interval: Interval | None, scale: float, units: str, form: str) -> str:
    if interval is None:
        return NOT_MEASURED
    value = interval.value * scale
    places = _decimals(value)
    text = f"{value:.{places}f}{units}"
    if interval.low is not None and interval.high is not None:
        low, high = (f"{bound * scale:.{places}f}" for bound in (interval.low, interval.high))
        text += form.format(low=low, high=high)
    return f"{text} n={interval.n}"


def _decimals(value: float) -> int:
    """Three digits, and as many for the interval as for its value."""
    return 2 if abs(value) < 10.0 else 1 if abs(value) < 100.0 else 0
