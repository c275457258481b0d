"""Every rule is shown to work by a planted fault, or says why none can be planted."""

from ddbench.checks.fault_table import measured_faults
from ddbench.checks.table import ALL_RULES
from ddbench.checks.unplanted import UNPLANTED
from ddbench.engine.faults import Fault


def test_every_rule_is_shown_by_a_fault_or_has_a_reason():
    planted = {code for fault in measured_faults() for code in fault["must"]}
    codes = {rule.code for rule in ALL_RULES}

    assert codes - planted - set(UNPLANTED) == set(), "neither"
    assert planted & set(UNPLANTED) == set(), "both"
    assert set(UNPLANTED) <= codes


def test_every_fault_was_measured_and_found_by_what_must_find_it():
    faults = measured_faults()

    assert sorted(fault["fault"] for fault in faults) == sorted(Fault)
    for fault in faults:
        found = set(fault["found"])
        assert set(fault["must"]) <= found <= {*fault["must"], *fault["may"]}, fault["fault"]
        assert len(fault["may"]) <= 3
        assert 0.0 < fault["least_dose"] <= 1.0
        assert fault["found_at_least"], fault["fault"]
