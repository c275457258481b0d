from collections.abc import Iterator

from ddbench.checks.cells import cells_of, speeds_of
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule


@rule(
    "DDB416",
    "too-few-repeats",
    Severity.INFO,
    remedy="Set `repeats: 3` or more; quote medians with an interval, never the best run.",
    needs=(SEVERAL_RUNS,),
)
def too_few_repeats(comparison: Comparison) -> Iterator[Outcome]:
    """A speed that was measured once has no noise estimate.

    ## Why it matters
    The best of several runs once showed a gain of 0.82 %, their median 0.03 %. With one run per
    cell nobody can tell which of the two a difference is.

    ## How it is computed
    Timed cells (arm and conditions) with a single run.

    ## Example
    Bad: 12 cells, each run once.
    Good: three repeats of each.
    """
    timed = [cell for cell in cells_of(comparison) if speeds_of(cell.runs)]
    once = [cell for cell in timed if len(speeds_of(cell.runs)) == 1]
    if not timed:
        yield Lacks("timed trials")
    elif once:
        yield f"{len(once)} of {len(timed)} cells were run once: {once[0].name} is one"
