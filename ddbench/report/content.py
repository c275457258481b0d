"""A report before it has any form: numbers with their intervals, and sentences."""

from collections.abc import Mapping
from dataclasses import dataclass

from ddbench.checks.finding import Finding, Severity
from ddbench.compare.linear_vs_tree import LinearVsTree
from ddbench.compare.slo import Recommendation
from ddbench.records import ServerConfig
from ddbench.report.drafters import DrafterReport
from ddbench.report.prediction import Prediction
from ddbench.report.sections import Sentence
from ddbench.report.speedups import Speedup
from ddbench.report.summary import Row

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Sent:
    """What the trials sent, alike but for how much of it was in flight at once.

    concurrencies of closed loops, rates of open ones; ascending.
    """

    prompts: str
    count: int
    max_new_tokens: int
    temperature: float
    seed: int
    concurrencies: tuple[int, ...]
    rates_per_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """One rule's findings that have one remedy, in the order they were found."""

    severity: Severity
    code: str
    remedy: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Lacking:
    """An input, and the rules that could not run somewhere without it."""

    input: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """A launch (arm is its log's name) or a trial without a valid result.

    measured_again: a later try of the same trial has one.
    """

    what: str  # "launch" or "trial"
    arm: str
    concurrency: int | None
    rate_per_s: float | None
    repeat: int | None
    measured_again: bool
    crash_class: str
    advice: str
    evidence: str


@dataclass(frozen=True, slots=True)
class FailedRequests:
    """So many requests of one arm that failed for one reason, in trials that failed too."""

    count: int
    arm: str
    concurrency: int
    rate_per_s: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Fact:
    """What the probes said. servers: of which it is so, by their arms; None: of all."""

    name: str
    value: str
    servers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Where:
    """unknown: a fact that could not be found out -> why."""

    servers: Mapping[str, ServerConfig]  # by arm
    facts: tuple[Fact, ...]
    unknown: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Report:
    """All that a report says of one run. None and empty: there is none.

    answer: one paragraph. rows: one an arm and load. comparison: every tree against the
    linear arm, or why not in `not_compared`; prediction and `not_predicted` likewise. drafters: one
    a recording arm. notes: what the numbers do not say. levels: what to run under the service
    level that was asked for, one a concurrency.
    """

    run: str
    first_trial_at: str | None
    last_trial_at: str | None
    launches: int
    trials: int
    on_embedded_engine: bool
    loads: tuple[Sent, ...]
    findings: tuple[Found, ...]
    lacking: tuple[Lacking, ...]
    answer: Sentence
    failed: tuple[Failed, ...]
    failed_requests: tuple[FailedRequests, ...]
    failure_counts: str | None
    rows: tuple[Row, ...]
    speedups: tuple[Speedup, ...]
    comparison: LinearVsTree | None
    not_compared: str | None
    drafters: tuple[DrafterReport, ...]
    prediction: Prediction | None
    not_predicted: str | None
    where: Where
    notes: tuple[str, ...]
    levels: tuple[Recommendation, ...] = ()
