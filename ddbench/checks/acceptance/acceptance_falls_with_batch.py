from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import fmean, variance

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import ACCEPT_LEN
from ddbench.checks.rule import rule

FEWEST_WINDOWS = 10
SEVERAL = 4
NOTABLE_DROP = 0.2
STANDARD_ERRORS = 4.0


@rule(
    "DDB112",
    "acceptance-falls-with-batch",
    Severity.WARNING,
    remedy="Send the same prompts at concurrency 1 and 8; DDB411 compares them prompt by prompt.",
    needs=(ACCEPT_LEN,),
)
def acceptance_falls_with_batch(evidence: Evidence) -> Iterator[Outcome]:
    """Acceptance is lower when several requests run: rows of a batch may be mixed up.

    ## Why it matters
    How much of a draft is accepted depends on the request, not on its neighbours. A collapse with
    the batch (4.03 alone, 1.52 at batch 16 in one report) comes from slots or masks indexed by the
    wrong row. Equal tree sizes hide it.

    ## How it is computed
    Mean accept len of the windows with one request running against those with four or more, ten
    of each at least: a drop of over 20 % and over 4 standard errors. Prompts may differ between
    the two, so it is a warning.

    ## Example
    Bad: 4.03 with 1 running, 1.52 with 16.
    Good: 3.43 with 1 running, 3.35 with 8.
    """
    logged = [w for w in evidence.windows if w.accept_len_logged and w.running_requests]
    alone = [w.accept_len_logged or 0.0 for w in logged if w.running_requests == 1]
    several = [w.accept_len_logged or 0.0 for w in logged if (w.running_requests or 0) >= SEVERAL]
    if min(len(alone), len(several)) < FEWEST_WINDOWS:
        yield Lacks(f"{FEWEST_WINDOWS} windows each with 1 and with {SEVERAL} or more running")
        return
    drop = fmean(alone) - fmean(several)
    error = sqrt(_squared_error(alone) + _squared_error(several))
    if drop > NOTABLE_DROP * fmean(alone) and drop > STANDARD_ERRORS * error:
        yield (
            f"accept len is {fmean(alone):.2f} in {len(alone)} windows with 1 request and "
            f"{fmean(several):.2f} in {len(several)} windows with {SEVERAL} or more"
        )


def _squared_error(values: Sequence[float]) -> float:
    return variance(values) / len(values)
