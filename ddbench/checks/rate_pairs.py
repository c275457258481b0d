"""What a log says of its accept rate, as `stats.accept_rate` takes it."""

from collections.abc import Iterator

from ddbench.checks.evidence import Evidence


def rate_pairs(evidence: Evidence) -> Iterator[tuple[float, float]]:
    """(accept len, accept rate) of every line that prints both."""
    for window in evidence.windows:
        length, rate = window.accept_len_logged, window.accept_rate_logged
        if length is not None and rate is not None:
            yield length, rate


def spelt(widths: range) -> str:
    """ "8", or "7 to 9": the widths in words."""
    return str(widths[0]) if len(widths) == 1 else f"{widths[0]} to {widths[-1]}"
