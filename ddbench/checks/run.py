"""Every rule on every piece of evidence."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.finding import Finding, Severity, Skipped
from ddbench.checks.table import COMPARISON_RULES, RULES

Wanted = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Report:
    """What the rules said, in code order within each run; findings between runs come last."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]

    @property
    def has_errors(self) -> bool:
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def everything(_code: str) -> bool:
    return True


def check(evidence: Sequence[Evidence], *, wanted: Wanted = everything) -> Report:
    """Run the rules whose code is `wanted`: each on every run, then those between runs on all."""
    outcomes = [outcome for one in evidence for outcome in check_one(one, wanted=wanted)]
    return report_of([*outcomes, *check_between(evidence, wanted=wanted)])


def check_one(evidence: Evidence, *, wanted: Wanted = everything) -> Iterator[Finding | Skipped]:
    """The rules that look at one run."""
    for rule in RULES:
        if wanted(rule.code):
            yield from rule.findings(evidence)


def check_between(
    evidence: Sequence[Evidence], *, wanted: Wanted = everything
) -> Iterator[Finding | Skipped]:
    """The rules that hold runs against each other."""
    together = Comparison(tuple(evidence))
    for rule in COMPARISON_RULES:
        if wanted(rule.code):
            yield from rule.findings(together)


def report_of(outcomes: Iterable[Finding | Skipped]) -> Report:
    everything_said = list(outcomes)
    return Report(
        findings=tuple(o for o in everything_said if isinstance(o, Finding)),
        skipped=tuple(o for o in everything_said if isinstance(o, Skipped)),
    )


def selector(select: Iterable[str], ignore: Iterable[str]) -> Wanted:
    """A `wanted` for prefixes of codes ("DDB1", "DDB101"); an empty `select` wants everything.

    The longest matching prefix wins, so `--ignore DDB1 --select DDB104` keeps just that one.
    """
    selected, ignored = tuple(select), tuple(ignore)

    def wanted(code: str) -> bool:
        keep = max((len(p) for p in selected if code.startswith(p)), default=0)
        drop = max((len(p) for p in ignored if code.startswith(p)), default=0)
        if not selected:
            return drop == 0
        return keep > 0 and keep >= drop

    return wanted
