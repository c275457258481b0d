from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT, depth_limit, is_uno
from ddbench.checks.needs import DEPTH_LIMIT
from ddbench.checks.rule import rule
from ddbench.checks.window_steps import windows_of_many_steps

SURPRISING_SHARE = 0.2  # a healthy log of 1,265 windows had 4.7 % at the ceiling
FEWEST_AT_CEILING = 3
STEPS_TO_AVERAGE = 20  # a single step at the ceiling is nothing special
FLAT_TO_THE_END = 0.8  # P(d = D); 0.94 in a loop, 0.40 after its fix, at D = 3
FEWEST_STEPS = 100


@rule(
    "DDB109",
    "accept-len-at-the-ceiling",
    Severity.WARNING,
    remedy="Read the answers: a loop or corrupted text is accepted perfectly; discard its speed.",
    needs=(DEPTH_LIMIT,),
)
def accept_len_at_the_ceiling(evidence: Evidence) -> Iterator[Outcome]:
    """Too many windows in which everything was accepted, as happens when the text repeats itself.

    ## Why it matters
    Loops win benchmarks: a model that repeats one sentence is drafted perfectly, and shows two to
    three times the throughput of the healthy one. Corrupted output ("!!!!") does the same.

    ## How it is computed
    Log: the share of windows with accept len = D + 1 among those that average at least 20
    request-steps; 20 % and three windows are too many (a healthy log of 1,265 lines had 4.7 %, with
    five in a row by chance). Answers: the share of verify steps that accepted all D drafts, over at
    least 100 steps; healthy acceptance decays with depth, a loop stays flat, so over 80 % is too
    many when D is at least 3. DDB502 looks at the text.

    ## Example
    Bad: accept len: 8.00, accept rate: 1.00 for ten seconds on end.
    Good: 8.00 in 59 of 1,265 windows.
    """
    depth = depth_limit(evidence)
    if depth is None or is_uno(evidence):
        return
    averaged = windows_of_many_steps(evidence, STEPS_TO_AVERAGE)
    ceiling = depth + 1 - PRINTED_HALF_UNIT
    full = sum((w.accept_len_logged or 0.0) >= ceiling for w in averaged)
    histograms = [r.histogram for r in evidence.completed if r.histogram]
    steps = sum(sum(h) for h in histograms)
    deepest = sum(h[depth] for h in histograms if len(h) > depth)
    if full >= FEWEST_AT_CEILING and full >= SURPRISING_SHARE * len(averaged):
        yield (
            f"everything was accepted (accept len {depth + 1}) in {full} of {len(averaged)} windows"
        )
    elif depth >= 3 and steps >= FEWEST_STEPS and deepest > FLAT_TO_THE_END * steps:
        yield (
            f"all {depth} drafts were accepted in {deepest} of {steps} verify steps: acceptance "
            "does not decay with depth"
        )
    elif not averaged and not histograms:
        yield Lacks("windows of many steps, or answers with a histogram")
