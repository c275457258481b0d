from collections.abc import Iterator
from itertools import pairwise

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import STEPS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB142",
    "trace-accepted-token-not-target",
    Severity.ERROR,
    remedy="Check token ids under tensor parallelism, and that the logits are of this step.",
    needs=(STEPS,),
)
def trace_accepted_token_not_target(evidence: Evidence) -> Iterator[Outcome]:
    """A draft is accepted only where it is the token that the target chose.

    ## Why it matters
    This is what makes speculation lossless. An accepted token that the target did not choose
    changes the text: ids local to a shard, logits of an earlier step, or thresholds that accept
    near misses.

    ## How it is computed
    token(accepted[i]) = target(accepted[i - 1]) for every accepted draft. Exact, at any
    temperature where the target's choice is drawn first and then walked. Steps whose target made
    no choice at a node of the path are left out.

    ## Example
    Bad: the target chose 813 after node 1, and node 3 with token 77 was accepted.
    Good: the target chose 813, and node 3 has token 813.
    """
    wrong = [
        f"{step.where} accepted token {step.tokens[node]} where the target chose "
        f"{step.target[before]}"
        for step in evidence.steps
        for before, node in pairwise(step.accepted)
        if step.target[before] is not None and step.tokens[node] != step.target[before]
    ]
    if wrong:
        yield some_of(wrong, sum(s.correct_drafts for s in evidence.steps), "accepted drafts")
