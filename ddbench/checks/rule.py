"""What a rule is. Declaring one registers nothing; checks/table.py lists those that run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import cleandoc
from typing import Generic, TypeVar

from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.finding import Finding, Found, Lacks, Outcome, Severity, Skipped

E = TypeVar("E", Evidence, Comparison)


@dataclass(frozen=True, slots=True)
class Need(Generic[E]):
    """An input without which a rule is skipped. `what` is shown to the user."""

    what: str
    present: Callable[[E], bool]


@dataclass(frozen=True, slots=True)
class Rule(Generic[E]):
    code: str
    name: str
    severity: Severity
    remedy: str
    needs: tuple[Need[E], ...]
    check: Callable[[E], Iterator[Outcome]]

    @property
    def explanation(self) -> str:
        """What `ddbench explain CODE` prints: the check's own docstring."""
        return cleandoc(self.check.__doc__ or "")

    def findings(self, evidence: E) -> Iterator[Finding | Skipped]:
        """What the check says of `evidence`, or one Skipped that names every missing need."""
        if missing := [need.what for need in self.needs if not need.present(evidence)]:
            yield Skipped(self.code, missing="; ".join(missing), subject=evidence.subject)
            return
        for outcome in self.check(evidence):
            if isinstance(outcome, Lacks):
                yield Skipped(self.code, missing=outcome.what, subject=evidence.subject)
                continue
            found = Found(outcome) if isinstance(outcome, str) else outcome
            yield Finding(
                code=self.code,
                severity=found.severity or self.severity,
                subject=found.subject or evidence.subject,
                message=found.message,
                remedy=found.remedy or self.remedy,
                source=evidence.source,
            )


def rule(
    code: str, name: str, severity: Severity, *, remedy: str, needs: tuple[Need[E], ...] = ()
) -> Callable[[Callable[[E], Iterator[Outcome]]], Rule[E]]:
    return lambda check: Rule(code, name, severity, remedy, needs, check)
