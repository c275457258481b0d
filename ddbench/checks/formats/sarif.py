"""Findings as SARIF 2.1.0, which code-scanning services read.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0.
"""

from typing import Any

import orjson

from ddbench import __version__
from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.finding import Finding, Severity
from ddbench.checks.rule import Rule
from ddbench.checks.run import Report
from ddbench.checks.table import ALL_RULES

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_sarif(report: Report) -> str:
    """One SARIF document with one run: all rules, and the findings as results."""
    driver = {
        "name": "ddbench",
        "version": __version__,
        "rules": [_rule(rule) for rule in ALL_RULES],
    }
    document = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "results": [_result(f) for f in report.findings]},
        ],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


def _rule(rule: Rule[Evidence] | Rule[Comparison]) -> dict[str, Any]:
    summary = rule.explanation.partition("\n\n")[0].replace("\n", " ")
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _result(finding: Finding) -> dict[str, Any]:
    location = {"physicalLocation": {"artifactLocation": {"uri": finding.source}}}
    return {
        "ruleId": finding.code,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.subject}: {finding.message}. {finding.remedy}"},
        "locations": [location] if finding.source else [],
    }
