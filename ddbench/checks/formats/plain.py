"""Findings for a terminal, the worst first."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from ddbench.checks.finding import Finding, Severity
from ddbench.checks.run import Report

ALIKE_SHOWN = 3
INPUTS_SHOWN = 8
CODES_SHOWN = 4
ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def render_plain(report: Report) -> str:
    """One paragraph a rule and remedy, then what was skipped and for want of what."""
    alike: dict[tuple[Severity, str, str], list[Finding]] = defaultdict(list)
    for finding in report.findings:
        alike[finding.severity, finding.code, finding.remedy].append(finding)
    ordered = sorted(alike.values(), key=lambda group: ORDER.index(group[0].severity))
    lines = [line for group in ordered for line in _paragraph(group)]
    counts = Counter(finding.severity for finding in report.findings)
    said = ", ".join(f"{counts[s]} {_plural(s, counts[s])}" for s in ORDER if counts[s])
    lines.append(said or "no findings")
    lines += _skipped(report)
    return "\n".join(lines) + "\n"


def render_statistics(report: Report) -> str:
    """How often each rule fired, the most frequent first."""
    counts = Counter((finding.code, finding.severity) for finding in report.findings)
    rows = [f"{number:6}  {code}  {severity}" for (code, severity), number in counts.most_common()]
    return "\n".join(rows or ["no findings"]) + "\n"


def _paragraph(group: list[Finding]) -> Iterator[str]:
    """The first few runs in which a rule found the same kind of thing, and its remedy once."""
    for finding in group[:ALIKE_SHOWN]:
        yield f"{finding.severity.upper()} {finding.code} {finding.subject}"
        yield f"  {finding.message}"
    if len(group) > ALIKE_SHOWN:
        yield f"  and {len(group) - ALIKE_SHOWN} more like it"
    yield f"  next: {group[0].remedy}"
    yield ""


def _plural(severity: Severity, number: int) -> str:
    word = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}[severity]
    return word if number == 1 else f"{word}s"


def _skipped(report: Report) -> Iterator[str]:
    """Rules by the inputs they lack, the inputs that most rules lack first."""
    by_input: dict[str, set[str]] = defaultdict(set)
    for skip in report.skipped:
        for one in skip.missing.split("; "):
            by_input[one].add(skip.code)
    if not by_input:
        return
    codes = {skip.code for skip in report.skipped}
    yield f"{len(codes)} rules were skipped, for want of:"
    ordered = sorted(by_input.items(), key=lambda item: (-len(item[1]), item[0]))
    for one, rules in ordered[:INPUTS_SHOWN]:
        shown = ", ".join(sorted(rules)[:CODES_SHOWN])
        yield f"  {one} ({shown}{', ...' if len(rules) > CODES_SHOWN else ''})"
    if len(ordered) > INPUTS_SHOWN:
        yield f"  and {len(ordered) - INPUTS_SHOWN} other inputs (--json lists them)"
