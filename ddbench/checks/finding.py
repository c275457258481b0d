"""What a rule may say: a finding, or which input it lacks."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """ERROR: a bug somewhere, or a comparison that must not be used. INFO: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """A contradiction, the run or runs in which it stands, and what to do next."""

    code: str
    severity: Severity
    subject: str
    message: str
    remedy: str
    source: str = ""  # the file or folder that it was read from


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not run on `subject`, and the inputs it would need."""

    code: str
    missing: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a check yields when its message alone is not enough; None takes the rule's own."""

    message: str
    remedy: str | None = None
    subject: str | None = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Lacks:
    """What a check yields when, beyond its declared needs, something is missing."""

    what: str


Outcome = str | Found | Lacks
