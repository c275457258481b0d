from collections.abc import Iterator
from itertools import combinations

from ddbench.checks.cells import cells_of, differ_only_in, drift_unknown
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

FASTER = 1.05
SLOWER = 0.9


@rule(
    "DDB414",
    "throughput-scaling-implausible",
    Severity.WARNING,
    remedy="Repeat the odd cell; warm up before the first, and watch clocks and neighbours.",
    needs=(SEVERAL_RUNS,),
)
def throughput_scaling_implausible(comparison: Comparison) -> Iterator[Outcome]:
    """More requests at a time give more throughput, but never more than in proportion.

    ## Why it matters
    More than proportional: the smaller cell paid for a warm-up, or the larger one was answered from
    the prefix cache. Less than the smaller: throttling, queueing, or a neighbour.

    ## How it is computed
    Output tokens over wall time, median over repeats, of one arm at concurrencies c1 < c2, all else
    equal: tps(c2) <= 1.05 * c2/c1 * tps(c1), and tps(c2) >= 0.9 * tps(c1). A note where the arm was
    launched once, so that drift of the machine is unknown.

    ## Example
    Bad: 50 tok/s at 1 and 480 tok/s at 8.
    Good: 50 tok/s at 1 and 310 tok/s at 8.
    """
    compared = False
    for one, other in combinations(cells_of(comparison), 2):
        a, b = sorted((one, other), key=lambda cell: cell.conditions.concurrency or 0)
        slow, fast = a.tokens_per_s, b.tokens_per_s
        if not differ_only_in("concurrency", a, b) or slow is None or fast is None:
            continue
        compared = True
        small, large = a.conditions.concurrency or 1, b.conditions.concurrency or 1
        if fast > FASTER * large / small * slow or fast < SLOWER * slow:
            yield Found(
                f"{slow:.1f} tok/s at concurrency {small} and {fast:.1f} at {large}",
                subject=a.arm,
                severity=drift_unknown(a, b),
            )
    if not compared:
        yield Lacks("one arm timed at two concurrencies")
