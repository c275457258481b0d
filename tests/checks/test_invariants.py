"""The map from known invariants to rules, and the generated index."""

from ddbench.checks.index import README, render
from ddbench.checks.invariants import INVARIANTS
from ddbench.checks.table import COMPARISON_RULES, RULES

CODES = {rule.code for rule in (*RULES, *COMPARISON_RULES)}


def test_every_invariant_is_listed_once_and_in_order():
    assert [invariant.number for invariant in INVARIANTS] == list(range(1, 63))


def test_every_invariant_has_a_rule_or_a_reason():
    for invariant in INVARIANTS:
        assert invariant.rules or invariant.reason, invariant
        assert set(invariant.rules) <= CODES


def test_the_index_is_up_to_date():
    assert README.read_text() == render(), "run `python -m ddbench.checks.index`"
