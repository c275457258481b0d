import math

import pytest

from ddbench.errors import NotComparable
from ddbench.stats.pairs import ratio_of_pairs


def test_two_pairs_by_hand() -> None:
    result = ratio_of_pairs([220.0, 240.0], [200.0, 200.0])

    logs = [math.log(1.1), math.log(1.2)]
    centre, error = sum(logs) / 2, abs(logs[0] - logs[1]) / 2
    assert result.value == pytest.approx(math.exp(centre))
    assert result.low == pytest.approx(math.exp(centre - 12.7062 * error), rel=1e-4)
    assert result.high == pytest.approx(math.exp(centre + 12.7062 * error), rel=1e-4)


def test_swapping_the_arms_inverts_the_interval() -> None:
    forth = ratio_of_pairs([3.0, 4.0, 5.0], [2.0, 2.0, 3.0])
    back = ratio_of_pairs([2.0, 2.0, 3.0], [3.0, 4.0, 5.0])

    assert back.low is not None
    assert back.high is not None
    assert (forth.value, forth.low, forth.high) == pytest.approx(
        (1 / back.value, 1 / back.high, 1 / back.low)
    )


def test_one_pair_has_no_interval() -> None:
    result = ratio_of_pairs([3.0], [2.0])

    assert (result.value, result.low, result.n) == (pytest.approx(1.5), None, 1)


@pytest.mark.parametrize(
    ("first", "second"), [([], []), ([1.0], [1.0, 2.0]), ([0.0], [1.0]), ([1.0], [-1.0])]
)
def test_what_cannot_be_paired_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(NotComparable):
        ratio_of_pairs(first, second)
