"""Every rule on every piece of evidence."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.finding import Finding, Severity, Skipped
from ddbench.checks.table import COMPARISON_RULES, RULES


@dataclass(frozen=True, slots=True)
class Report:
    """What the rules said, in code order within each run; findings between runs come last."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]

    @property
    def has_errors(self) -> bool:
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def check(
    evidence: Sequence[Evidence], *, wanted: Callable[[str], bool] = lambda _code: True
) -> Report:
    """Run the rules whose code is `wanted`: each on every run, then those between runs on all."""
    outcomes: list[Finding | Skipped] = []
    for one in evidence:
        for rule in RULES:
            if wanted(rule.code):
                outcomes += rule.findings(one)
    together = Comparison(tuple(evidence))
    for between in COMPARISON_RULES:
        if wanted(between.code):
            outcomes += between.findings(together)
    return Report(
        findings=tuple(o for o in outcomes if isinstance(o, Finding)),
        skipped=tuple(o for o in outcomes if isinstance(o, Skipped)),
    )


def selector(select: Iterable[str], ignore: Iterable[str]) -> Callable[[str], bool]:
    """A `wanted` for prefixes of codes ("DDB1", "DDB101"); an empty `select` wants everything.

    The longest matching prefix wins, so `--ignore DDB1 --select DDB104` keeps just that one.
    """
    selected, ignored = tuple(select), tuple(ignore)

    def wanted(code: str) -> bool:
        keep = max((len(p) for p in selected if code.startswith(p)), default=0)
        drop = max((len(p) for p in ignored if code.startswith(p)), default=0)
        return keep >= drop and (keep > 0 or not selected) if keep or drop else not selected

    return wanted
