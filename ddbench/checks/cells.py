"""Runs grouped for comparison: one cell is all repeats of an arm under the same conditions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.finding import Severity
from ddbench.checks.limits import verified_tokens
from ddbench.records import RequestCompleted, Speculation

PLAIN = Speculation()


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must be equal for two runs to be compared. None: not known, as in a bare log."""

    prompts: str | None
    count: int | None
    concurrency: int | None
    max_new_tokens: int | None
    temperature: float | None
    ignore_eos: bool | None
    rate_per_s: float | None = None  # of an open loop, whose concurrency is 0
    arrival: str | None = None
    burstiness: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """Repeats and visits of one arm from one source, under one set of conditions."""

    source: str
    arm: str
    conditions: Conditions
    runs: tuple[Evidence, ...]

    @property
    def speculation(self) -> Speculation:
        return self.runs[0].speculation or PLAIN

    @property
    def name(self) -> str:
        c = self.conditions
        if c.rate_per_s is not None:
            return f"{self.arm} at {c.arrival} {c.rate_per_s:g}/s"
        return self.arm if c.concurrency is None else f"{self.arm} at concurrency {c.concurrency}"

    @property
    def is_autoregressive(self) -> bool:
        spec = self.runs[0].speculation
        return spec is not None and spec.algorithm is None

    @property
    def is_linear(self) -> bool:
        spec = self.speculation
        return spec.algorithm is not None and spec.block_size is not None and spec.budget is None

    @property
    def is_tree(self) -> bool:
        return self.speculation.budget is not None

    @property
    def tokens_per_step(self) -> float | None:
        """Pooled over every answer of the cell."""
        counted = [r for run in self.runs for r in run.completed if r.verify_ct]
        steps = sum(r.verify_ct or 0 for r in counted)
        return sum(verified_tokens(r) for r in counted) / steps if steps else None

    @property
    def tokens_per_s(self) -> float | None:
        """Output tokens over wall time, the median of the repeats; None when none was timed."""
        speeds = speeds_of(self.runs)
        return median(speeds) if speeds else None

    def by_prompt(self) -> Mapping[str, list[RequestCompleted]]:
        """The answers to each prompt, in the order of the repeats."""
        answers: dict[str, list[RequestCompleted]] = {}
        for run in self.runs:
            for request in run.completed:
                answers.setdefault(request.prompt_id, []).append(request)
        return answers

    def tokens_per_step_by_prompt(self) -> Mapping[str, float]:
        """Pooled over the repeats of each prompt that verified anything."""
        means = {}
        for prompt_id, answers in self.by_prompt().items():
            steps = sum(r.verify_ct or 0 for r in answers)
            if steps:
                means[prompt_id] = sum(verified_tokens(r) for r in answers if r.verify_ct) / steps
        return means


def speeds_of(runs: Sequence[Evidence]) -> list[float]:
    """tok/s of each run that has a wall time and no failed request."""
    return [
        sum(r.completion_tokens for r in run.completed) / run.wall_s
        for run in runs
        if run.wall_s and run.completed and not run.failed
    ]


def drift_unknown(a: Cell, b: Cell) -> Severity | None:
    """INFO for a difference of times where one side was launched once; else the rule's own."""
    visits = min(len({run.visit for run in cell.runs}) for cell in (a, b))
    return Severity.INFO if visits < 2 else None


def conditions_of(run: Evidence) -> Conditions:
    """From the load; for a bare log or another tool just the concurrency, as far as it is known."""
    if run.load is not None:
        load = run.load
        return Conditions(
            load.prompts,
            load.count,
            load.concurrency,
            load.max_new_tokens,
            load.temperature,
            load.ignore_eos,
            *(() if load.rate_per_s is None else (load.rate_per_s, load.arrival, load.burstiness)),
        )
    if run.tool is not None:
        return Conditions(None, None, run.tool.asked_concurrency, None, None, None)
    running = [w.running_requests for w in run.windows if w.running_requests]
    usual = round(median(running)) if running else None
    return Conditions(None, None, usual, None, None, None)


def cells_of(comparison: Comparison) -> list[Cell]:
    """In the order in which they first appear."""
    groups: dict[tuple[str, str, Conditions], list[Evidence]] = {}
    for run in comparison.runs:
        key = (run.source, run.arm or run.subject, conditions_of(run))
        groups.setdefault(key, []).append(run)
    return [Cell(*key, tuple(runs)) for key, runs in groups.items()]


def matched(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Each two cells of different arms (or sources) whose conditions are known and equal."""
    for a, b in combinations(cells, 2):
        if a.conditions == b.conditions and a.conditions.prompts is not None:
            yield a, b


def differ_only_in(name: str, a: Cell, b: Cell) -> bool:
    """One arm under known conditions that are equal but for the one called `name`."""
    mine, theirs = a.conditions, b.conditions
    if (a.source, a.arm) != (b.source, b.arm) or mine.prompts is None or mine == theirs:
        return False
    return replace(mine, **{name: getattr(theirs, name)}) == theirs


def shared_prompts(a: Mapping[str, float], b: Mapping[str, float]) -> list[tuple[float, float]]:
    """Values of both sides for the prompts that both have."""
    return [(a[prompt_id], b[prompt_id]) for prompt_id in a if prompt_id in b]
