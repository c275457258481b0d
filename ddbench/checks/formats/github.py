"""Findings as workflow commands, which GitHub shows beside a change."""

from ddbench.checks.finding import Severity
from ddbench.checks.run import Report

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render_github(report: Report) -> str:
    """One line a finding; nothing when there is none."""
    lines = []
    for finding in report.findings:
        properties = f"title={_property(f'{finding.code} {finding.subject}')}"
        if finding.source:
            properties = f"file={_property(finding.source)},{properties}"
        text = _data(f"{finding.message}. {finding.remedy}")
        lines.append(f"::{COMMANDS[finding.severity]} {properties}::{text}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
