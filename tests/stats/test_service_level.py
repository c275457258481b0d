"""Service levels as users write them."""

import pytest

from ddbench.errors import NotComparable
from ddbench.stats.service_level import Limit, read_limits


def test_reads_a_list_of_limits() -> None:
    found = read_limits("tpot_s<0.02, ttft_s.p95 <= 1,e2e_ms.p50<2500")

    assert found == (
        Limit("tpot_s", None, 0.02),
        Limit("ttft_s", 0.95, 1.0),
        Limit("e2e_s", 0.5, 2.5),
    )


def test_a_limit_says_which_number_it_means() -> None:
    assert [str(limit) for limit in read_limits("tpot_s<0.02,ttft_s.p99<1")] == [
        "mean tpot_s < 0.02",
        "p99 ttft_s < 1",
    ]


@pytest.mark.parametrize(
    "text",
    [
        *("", "tpot_s", "tpot<0.02", "tpot_s>0.02", "tpot_s<0", "tpot_s<-1", "tpot_s<fast"),
        *("itl_s<1", "ttft_s.p98<1", "ttft_s.max<1", "tpot_s<0.02,", "tpot_s<0.02;ttft_s<1"),
    ],
)
def test_what_is_no_limit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(NotComparable, match="--slo") as caught:
        read_limits(text)

    assert "tpot_s<0.02,ttft_s<1" in caught.value.remedy


def test_two_limits_of_one_number_are_refused() -> None:
    with pytest.raises(NotComparable, match="twice"):
        read_limits("tpot_s<0.02,tpot_ms<30")
