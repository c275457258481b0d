from collections.abc import Iterator
from statistics import fmean, stdev

from ddbench.checks.cells import Cell, cells_of, speeds_of
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

SHARE = 0.02
DEVIATIONS = 2.0


@rule(
    "DDB415",
    "drift-between-visits",
    Severity.WARNING,
    remedy="Fix clocks, stop neighbours, and run the sweep again with `visits: 2`.",
    needs=(SEVERAL_RUNS,),
)
def drift_between_visits(comparison: Comparison) -> Iterator[Outcome]:
    """An arm that is measured again at the end of a sweep is as fast as at its beginning.

    ## Why it matters
    Between the visits the machine may have warmed up, slowed down or got company. A difference
    between arms that is smaller than this drift is not a difference between arms.

    ## How it is computed
    Mean tok/s of a cell by visit: first and last may differ by 2 %, or by 2 standard deviations of
    the repeats within a visit where there are any. Where several hosts took part, visits of one
    host are held against each other: two hosts differ, and that is no drift.

    ## Example
    Bad: 480 tok/s in the first visit and 431 in the second.
    Good: 480 and 476.
    """
    compared = False
    for cell, host in _by_host(comparison):
        runs = [run for run in cell.runs if run.host == host]
        visits = {run.visit for run in runs}
        if len(visits) < 2:
            continue
        first = speeds_of([run for run in runs if run.visit == min(visits)])
        last = speeds_of([run for run in runs if run.visit == max(visits)])
        if not first or not last:
            continue
        compared = True
        noise = max((stdev(s) for s in (first, last) if len(s) > 1), default=0.0)
        drift = fmean(last) - fmean(first)
        if abs(drift) > max(SHARE * fmean(first), DEVIATIONS * noise):
            yield Found(
                f"{fmean(first):.1f} tok/s in visit {min(visits)} and {fmean(last):.1f} in visit "
                f"{max(visits)} ({drift / fmean(first):+.1%})",
                subject=cell.name,
            )
    if not compared:
        yield Lacks("one arm timed in two visits (`visits: 2`)")


def _by_host(comparison: Comparison) -> Iterator[tuple[Cell, str | None]]:
    for cell in cells_of(comparison):
        for host in dict.fromkeys(run.host for run in cell.runs):
            yield cell, host
