from collections.abc import Iterator
from dataclasses import fields
from itertools import combinations

from ddbench.checks.cells import Cell, Conditions, cells_of
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

SAME_RUNNING = 1.25  # of a bare log, whose number running is read off its windows


@rule(
    "DDB401",
    "conditions-differ",
    Severity.ERROR,
    remedy="Measure both at the same conditions, then compare cell by cell.",
    needs=(SEVERAL_RUNS,),
)
def conditions_differ(comparison: Comparison) -> Iterator[Outcome]:
    """These runs are not comparable: they were not measured under the same conditions.

    ## Why it matters
    Depth 7 at concurrency 64 beside commit 2 at concurrency 1 cost days of tracing; they were
    never two views of one thing. Tokens per step, latency and throughput all depend on the load.

    ## How it is computed
    For every two arms (or files) given together there must be a pair of runs with equal prompts,
    number of prompts, concurrency, max_new_tokens, temperature and end-of-text setting. For a bare
    log, concurrency is the median #running-req, and must agree within 25 %. The finding names what
    differs in the closest pair.

    ## Example
    Bad: linear-8 at concurrency 1 and tree-8-31-4 at concurrency 64.
    Good: both at 1 and at 64.
    """
    arms: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells_of(comparison):
        arms.setdefault((cell.source, cell.arm), []).append(cell)
    for mine, theirs in combinations(arms.values(), 2):
        closest = min(
            (differences(a.conditions, b.conditions) for a in mine for b in theirs), key=len
        )
        if closest:
            yield Found(
                f"not comparable: {', '.join(closest)}",
                subject=f"{_named(mine[0], theirs[0])} and {_named(theirs[0], mine[0])}",
            )


def differences(a: Conditions, b: Conditions) -> list[str]:
    """What differs, in words; unknown on either side does not."""
    found = []
    bare = a.prompts is None or b.prompts is None
    for field in fields(Conditions):
        mine, theirs = getattr(a, field.name), getattr(b, field.name)
        if mine is None or theirs is None or mine == theirs:
            continue
        if (
            field.name == "concurrency"
            and bare
            and max(mine, theirs) <= SAME_RUNNING * min(mine, theirs)
        ):
            continue
        found.append(f"{field.name} {mine} against {theirs}")
    return found


def _named(cell: Cell, other: Cell) -> str:
    """The arm, with its file where both sides have the same arm."""
    return f"{cell.source} {cell.arm}".strip() if cell.arm == other.arm else cell.arm
