"""What the rules of `ddbench check` say of a run, the worst first."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from ddbench.checks.finding import Finding, Severity
from ddbench.checks.run import Report as Checked
from ddbench.report.content import Found, Lacking
from ddbench.report.sections import Said, Section, Sentence, Strong, Told, Words

ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)
ALIKE_SHOWN = 3
INPUTS_SHOWN = 8
_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def found_of(checked: Checked) -> tuple[Found, ...]:
    """Findings of one rule with one remedy together; errors before warnings before notes."""
    alike: dict[tuple[Severity, str, str], list[Finding]] = defaultdict(list)
    for finding in checked.findings:
        alike[finding.severity, finding.code, finding.remedy].append(finding)
    ordered = sorted(alike.items(), key=lambda item: ORDER.index(item[0][0]))
    return tuple(Found(*key, findings=tuple(findings)) for key, findings in ordered)


def lacking_of(checked: Checked) -> tuple[Lacking, ...]:
    """The inputs that most rules lack first."""
    by_input: dict[str, set[str]] = defaultdict(set)
    for skip in checked.skipped:
        for one in skip.missing.split("; "):
            by_input[one].add(skip.code)
    ordered = sorted(by_input.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Lacking(one, tuple(sorted(codes))) for one, codes in ordered)


def count_of(found: Sequence[Found], severity: Severity) -> int:
    return sum(len(one.findings) for one in found if one.severity is severity)


def counts_text(found: Sequence[Found]) -> str:
    """`1 error, 2 warnings`, or `no findings`."""
    counts = Counter({severity: count_of(found, severity) for severity in ORDER})
    said = [
        f"{number} {_WORDS[severity]}{'' if number == 1 else 's'}"
        for severity, number in counts.items()
        if number
    ]
    return ", ".join(said) or "no findings"


def findings_sections(found: Sequence[Found], lacking: Sequence[Lacking]) -> Iterator[Section]:
    """A sentence a rule and remedy; below, what could not be looked at."""
    after: list[Sentence] = []
    if found:
        after.append(("`ddbench check` lists them all; `ddbench explain` says what a rule means.",))
    else:
        after.append(("No rule of `ddbench check` found anything.",))
    if lacking:
        codes = {code for one in lacking for code in one.codes}
        inputs = "; ".join(one.input for one in lacking[:INPUTS_SHOWN])
        more = len(lacking) - INPUTS_SHOWN
        rest = f"; and {more} other inputs" if more > 0 else ""
        after.append(
            (f"{len(codes)} rules were skipped on some trial, for want of: {inputs}{rest}.",)
        )
    yield Section("", tuple(tuple(_sentence(one)) for one in found), after=tuple(after))


def _sentence(one: Found) -> Iterator[Words]:
    yield from (Strong(f"{one.severity.upper()} {one.code}"), " ")
    for number, finding in enumerate(one.findings[:ALIKE_SHOWN]):
        yield from ("; " if number else "", Said(finding.subject), ": ", Told(finding.message))
    if (more := len(one.findings) - ALIKE_SHOWN) > 0:
        yield f"; and {more} more like it"
    yield from (". Next: ", Told(one.remedy))
