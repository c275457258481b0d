from collections.abc import Iterator
from itertools import pairwise

from ddbench.checks.evidence import Evidence, StepRecord
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import LOG_WEIGHTS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule

TOLERANCE = 1e-5  # float32 sums of log-probabilities


@rule(
    "DDB149",
    "trace-weights-out-of-order",
    Severity.ERROR,
    remedy="Check the builder's heap; a builder with depth bonuses is not nested in its budget.",
    needs=(LOG_WEIGHTS,),
)
def trace_weights_out_of_order(evidence: Evidence) -> Iterator[Outcome]:
    """Nodes are drafted from the most probable path down.

    ## Why it matters
    The best tree of a budget is the most probable paths, and the tree of a smaller budget is its
    beginning. A builder that strays from this wastes budget, and its trees are not nested, so
    acceptance need not grow with the budget.

    ## How it is computed
    log_weights in node order never rise, and none exceeds its parent's, within 1e-5.

    ## Example
    Bad: weights 0 -0.2 -2.0 -1.8.
    Good: weights 0 -0.2 -1.8 -2.0.
    """
    weighted = [step for step in evidence.steps if step.log_weights]
    odd = [what for step in weighted if (what := _breach(step))]
    if odd:
        yield some_of(odd, len(weighted), "trees")


def _breach(step: StepRecord) -> str | None:
    weights = step.log_weights
    for node, (before, now) in enumerate(pairwise(weights), start=1):
        if now > before + TOLERANCE:
            return f"{step.where} has weight {now:.3f} at node {node} after {before:.3f}"
    for node in range(1, len(weights)):
        parent = step.parents[node]
        if 0 <= parent < len(weights) and weights[node] > weights[parent] + TOLERANCE:
            return f"{step.where} has node {node} more probable than its own prefix"
    return None
