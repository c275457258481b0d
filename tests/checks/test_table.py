"""What holds for every rule, whatever it checks."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import ddbench.checks
from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.finding import Severity, Skipped
from ddbench.checks.rule import Rule
from ddbench.checks.run import check
from ddbench.checks.table import COMPARISON_RULES, RULES

ALL = (*RULES, *COMPARISON_RULES)
TESTS = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_ddb*.py"))


def declared_rules():
    modules = pkgutil.walk_packages(ddbench.checks.__path__, "ddbench.checks.")
    values = [v for m in modules for v in vars(importlib.import_module(m.name)).values()]
    return {id(v): v for v in values if isinstance(v, Rule)}


def test_every_declared_rule_is_listed():
    assert sorted(r.code for r in declared_rules().values()) == sorted(r.code for r in ALL)


def test_codes_and_names_are_unique_and_sorted():
    for table in (RULES, COMPARISON_RULES):
        codes = [rule.code for rule in table]
        assert codes == sorted(set(codes))
    assert len({rule.code for rule in ALL}) == len(ALL)
    assert len({rule.name for rule in ALL}) == len(ALL)


@pytest.mark.parametrize("rule", ALL, ids=lambda r: r.code)
def test_is_documented_like_the_others(rule):
    assert re.fullmatch(r"DDB\d{3}", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", rule.name)
    assert rule.check.__name__ == rule.name.replace("-", "_")
    assert rule.check.__module__.rpartition(".")[2] == rule.check.__name__
    for heading in ("## Why it matters", "## How it is computed", "## Example"):
        assert heading in rule.explanation
    assert "Bad: " in rule.explanation
    assert "Good: " in rule.explanation
    assert rule.remedy.endswith(".")


@pytest.mark.parametrize("rule", ALL, ids=lambda r: r.code)
def test_has_a_run_that_fires_and_one_that_does_not(rule):
    assert re.search(rf'fired\(\s*"{rule.code}"', TESTS)
    assert re.search(rf'silent\(\s*"{rule.code}"', TESTS)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_a_rule_without_inputs_says_what_it_lacks(rule):
    (outcome,) = rule.findings(Evidence("nothing measured"))

    assert isinstance(outcome, Skipped)
    assert outcome.code == rule.code
    assert outcome.missing


@pytest.mark.parametrize("rule", COMPARISON_RULES, ids=lambda r: r.code)
def test_a_rule_between_runs_says_that_it_lacks_a_second_run(rule):
    outcomes = list(rule.findings(Comparison((Evidence("alone"),))))

    assert [type(outcome) for outcome in outcomes] == [Skipped]


def test_a_healthy_run_has_nothing_above_info(healthy):
    report = check([healthy])

    assert [f for f in report.findings if f.severity is not Severity.INFO] == []
