"""Numbers as text: how many digits, and which side of 1."""

import pytest

from ddbench.report.numbers import interval_text
from ddbench.stats.interval import Interval


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (1.0615, 1.0002, 1.1266, "1.0615x [1.0002, 1.1266] n=2"),  # as a quickstart measured it
        (0.6829, 0.4654, 1.0021, "0.683x [0.465, 1.002] n=2"),
        (1.0808, 1.0521, 1.1103, "1.08x [1.05, 1.11] n=2"),
        (1.0, 1.0, 1.0, "1.00x [1.00, 1.00] n=2"),
        (1.0001, 0.9993, 1.0009, "1.00x [1.00, 1.00] n=2"),  # nothing hangs on either side
        (1.3, 1.0, 1.7, "1.30x [1.00, 1.70] n=2"),
    ],
)
def test_a_ratio_shows_on_which_side_of_1_its_interval_ends(
    value: float, low: float, high: float, shown: str
) -> None:
    assert interval_text(Interval(value, low, high, 2, 0.95, "by hand"), units="x") == shown


def test_what_is_no_ratio_has_three_digits_wherever_it_ends() -> None:
    assert interval_text(Interval(1.0615, 1.0002, 1.1266, 2, 0.95, "by hand")) == (
        "1.06 [1.00, 1.13] n=2"
    )
