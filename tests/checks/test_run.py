"""All rules together, and which of them are wanted."""

import pytest

from ddbench.checks.evidence import Evidence
from ddbench.checks.run import check, selector


@pytest.mark.parametrize(
    ("select", "ignore", "wanted", "unwanted"),
    [
        ([], [], ["DDB101", "DDB417"], []),
        (["DDB1"], [], ["DDB101"], ["DDB201"]),
        ([], ["DDB2"], ["DDB101"], ["DDB201"]),
        (["DDB104"], ["DDB1"], ["DDB104"], ["DDB101"]),
        (["DDB1"], ["DDB104"], ["DDB101"], ["DDB104"]),
    ],
)
def test_the_longest_prefix_wins(select, ignore, wanted, unwanted):
    is_wanted = selector(select, ignore)

    assert all(is_wanted(code) for code in wanted)
    assert not any(is_wanted(code) for code in unwanted)


def test_every_rule_is_heard_of_each_run_and_once_for_all(healthy):
    report = check([healthy, Evidence("nothing")])

    said = {(o.code, o.subject) for o in (*report.findings, *report.skipped)}
    assert ("DDB101", "nothing") in said
    assert ("DDB404", f"{healthy.subject} and nothing") in said
    assert not report.has_errors


def test_an_error_is_reported_as_such(window):
    broken = Evidence("log", windows=(window(accept_len_logged=0.5, accept_rate_logged=None),))

    assert check([broken]).has_errors
    assert not check([broken], wanted=selector([], ["DDB104"])).has_errors
