"""The measured matrix of planted faults as markdown. Its numbers are those of fault_matrix.json.

pytest -m faults with DDBENCH_FAULT_MATRIX=write measures it anew.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ddbench.checks.rule import Rule
from ddbench.checks.unplanted import UNPLANTED

MATRIX = Path(__file__).parent / "fault_matrix.json"


def measured_faults() -> list[Mapping[str, Any]]:
    """One entry a planted fault, as tests/checks/test_fault_matrix.py writes them."""
    if not MATRIX.is_file():
        return []
    faults: list[Mapping[str, Any]] = json.loads(MATRIX.read_text(encoding="utf-8"))
    return faults


def render_faults(rules: Sequence[Rule[Any]]) -> list[str]:
    """Lines of markdown: what each fault does and which rules found it, then the same by rule."""
    faults = measured_faults()
    lines = [
        "## Planted faults",
        "",
        "`python -m ddbench.engine --fault NAME[:DOSE]` plants one. Measured with a real sweep of "
        "each, beside healthy arms. The dose is the share of occasions (steps, requests or lines) "
        "on which the fault strikes; the smallest is that of 1, 1/4 and 1/16 (of the full dose) at "
        "which it is still found. Rules in brackets may fire and need not.",
        "",
        "| fault | what it does | on | found by | smallest dose | found there by |",
        "|---|---|---|---|---|---|",
    ]
    for fault in faults:
        others = [code for code in fault["found"] if code not in fault["must"]]
        found = ", ".join(fault["must"]) + (f" ({', '.join(others)})" if others else "")
        at_least = ", ".join(fault["found_at_least"])
        lines.append(
            f"| {fault['fault']} | {fault['effect']} | {fault['arm']} | {found} "
            f"| {fault['least_dose']:g} | {at_least} |"
        )
    lines += ["", "## Which fault shows that a rule works", "", "| rule | faults |", "|---|---|"]
    for rule in rules:
        by = [fault["fault"] for fault in faults if rule.code in fault["must"]]
        shown = ", ".join(by) or f"none: {UNPLANTED.get(rule.code, 'not yet')}"
        lines.append(f"| {rule.code} {rule.name} | {shown} |")
    return lines
