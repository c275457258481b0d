from collections.abc import Iterator

from ddbench.checks.evidence import Comparison, Evidence
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

FEWEST = 3


@rule(
    "DDB417",
    "result-used-twice",
    Severity.ERROR,
    remedy="Delete the stale copy and measure that run again.",
    needs=(SEVERAL_RUNS,),
)
def result_used_twice(comparison: Comparison) -> Iterator[Outcome]:
    """Two runs hold the very same measurements: one of them is a stale copy.

    ## Why it matters
    A result file that a failed run left untouched was once read as the new result, and gave a
    speedup of 519 %. Clocks never repeat themselves to the last digit.

    ## How it is computed
    Send times, first-token times and end times of all answers, in full precision; equal sequences
    of three or more answers in two runs.

    ## Example
    Bad: linear-8 and tree-8-31-4 with the same 48 latencies.
    Good: no two runs alike.
    """
    seen: dict[tuple[tuple[float, float, float], ...], Evidence] = {}
    for run in comparison.runs:
        times = tuple((r.sent_s, r.ttft_s, r.e2e_s) for r in run.completed)
        if len(times) < FEWEST:
            continue
        if (first := seen.setdefault(times, run)) is not run:
            yield Found(
                f"the same {len(times)} latencies stand in both",
                subject=f"{first.subject} and {run.subject}",
            )
    if not seen:
        yield Lacks(f"runs of {FEWEST} answers or more")
