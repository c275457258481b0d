from collections.abc import Iterator
from math import exp, sqrt

from ddbench.checks.evidence import Evidence, StepRecord
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import LOG_WEIGHTS
from ddbench.checks.rule import rule

LOWEST, HIGHEST = 0.6, 1.2
FEWEST_REQUESTS = 10
CONFIDENT = 2.6  # standard errors: 99 %
MOST = 50.0  # what is above 0 is no log-probability, and exp must not overflow


@rule(
    "DDB152",
    "trace-calibration-off",
    Severity.WARNING,
    remedy="Check that log-probabilities are normalised over the whole vocabulary and temperature.",
    needs=(LOG_WEIGHTS,),
)
def trace_calibration_off(evidence: Evidence) -> Iterator[Outcome]:
    """Drafts are accepted about as often as the drafter itself expects.

    ## Why it matters
    The builder spends its budget by the drafter's probabilities. When they are normalised over one
    shard of the vocabulary, or at another temperature, paths look likelier than they are and the
    tree has the wrong shape. Only a trained drafter can be expected to be calibrated.

    ## How it is computed
    Expected drafts of a step: the sum of exp(log_weight) over its nodes without the root. Ratio of
    the means, accepted / expected, with a standard error over requests (steps of one request are
    not independent; at least 10 requests). Fires when the 99 % interval lies outside 0.6 to 1.2.

    ## Example
    Bad: 2.1 accepted where 6.3 are expected: the weights are eight shards' sums.
    Good: 2.1 accepted where 2.3 are expected.
    """
    totals: dict[str, list[float]] = {}
    for step in evidence.steps:
        if step.log_weights:
            sums = totals.setdefault(step.rid, [0.0, 0.0])
            sums[0] += step.correct_drafts
            sums[1] += _expected(step)
    if len(totals) < FEWEST_REQUESTS:
        yield Lacks(f"log_weights of {FEWEST_REQUESTS} requests")
        return
    accepted = sum(sums[0] for sums in totals.values())
    expected = sum(sums[1] for sums in totals.values())
    if expected == 0.0:
        return
    ratio = accepted / expected
    squared = sum((a - ratio * e) ** 2 for a, e in totals.values())
    error = sqrt(squared * len(totals) / (len(totals) - 1)) / expected
    if ratio - CONFIDENT * error > HIGHEST or ratio + CONFIDENT * error < LOWEST:
        yield (
            f"{accepted:.0f} drafts accepted where the drafter expected {expected:.0f}: a ratio of "
            f"{ratio:.2f} +- {CONFIDENT * error:.2f} over {len(totals)} requests"
        )


def _expected(step: StepRecord) -> float:
    return sum(exp(min(weight, MOST)) for weight in step.log_weights[1:])
