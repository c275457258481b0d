from collections.abc import Iterator

from ddbench.checks.cells import cells_of, matched
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

SHARE = 0.02


@rule(
    "DDB419",
    "drafting-slower-than-plain",
    Severity.INFO,
    remedy="Draft less or not at all at this concurrency; compare step times first.",
    needs=(SEVERAL_RUNS,),
)
def drafting_slower_than_plain(comparison: Comparison) -> Iterator[Outcome]:
    """Speculation costs more than it gains here.

    ## Why it matters
    Verification of many drafts is cheap while the batch is small and dear when it is large, so
    every drafter has a concurrency beyond which it loses. With acceptance near 1 it loses
    everywhere.

    ## How it is computed
    tok/s (median over repeats) of a drafting arm over 2 % below the autoregressive arm at the same
    conditions.

    ## Example
    Bad: autoregressive 900 tok/s and linear-8 640 tok/s at concurrency 128.
    Good: 50 and 120 tok/s at concurrency 1.
    """
    compared = False
    for a, b in matched(cells_of(comparison)):
        plain, arm = (a, b) if a.is_autoregressive else (b, a)
        base, speed = plain.tokens_per_s, arm.tokens_per_s
        if not plain.is_autoregressive or arm.is_autoregressive or base is None or speed is None:
            continue
        compared = True
        if speed < (1.0 - SHARE) * base:
            tokens = arm.tokens_per_step
            shown = "" if tokens is None else f" at {tokens:.2f} tokens a step"
            yield Found(
                f"{speed:.1f} tok/s{shown}, {base:.1f} tok/s without drafting",
                subject=arm.name,
            )
    if not compared:
        yield Lacks("a drafting and an autoregressive arm timed under the same conditions")
