from collections.abc import Iterator
from itertools import pairwise

from ddbench.checks.evidence import Evidence, StepRecord
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import STEPS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB141",
    "trace-accepted-path-broken",
    Severity.ERROR,
    remedy="Check the map from flat positions to nodes, and the order of siblings.",
    needs=(STEPS,),
)
def trace_accepted_path_broken(evidence: Evidence) -> Iterator[Outcome]:
    """The accepted nodes are a path from the root, one level at a time.

    ## Why it matters
    The kept cache slots are those of the accepted nodes. If they are no path, the cache holds keys
    of tokens that are not in the text, and the text goes wrong some tokens later.

    ## How it is computed
    accepted[0] = 0; parent(accepted[i]) = accepted[i - 1]; depth(accepted[i]) = i. Exact.

    ## Example
    Bad: accepted 0 1 4 where node 4 is a child of node 2.
    Good: accepted 0 1 3 where node 3 is a child of node 1.
    """
    broken = [what for step in evidence.steps if (what := _breach(step))]
    if broken:
        yield some_of(broken, len(evidence.steps), "steps")


def _breach(step: StepRecord) -> str | None:
    path = step.accepted
    if path[0] != 0:
        return f"{step.where} starts its path at node {path[0]}, not at the root"
    for before, node in pairwise(path):
        if step.parents[node] != before:
            return (
                f"{step.where} goes from node {before} to {node}, whose parent is "
                f"{step.parents[node]}"
            )
    for level, node in enumerate(path):
        if step.depths[node] != level:
            return f"{step.where} has node {node} of depth {step.depths[node]} as its {level}th"
    return None
