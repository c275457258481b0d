from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import STEPS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule
from ddbench.checks.step_trace import consecutive


@rule(
    "DDB146",
    "trace-prefix-advance-wrong",
    Severity.ERROR,
    remedy="Advance the sequence length by the commit: the root and the accepted drafts.",
    needs=(STEPS,),
)
def trace_prefix_advance_wrong(evidence: Evidence) -> Iterator[Outcome]:
    """The cached prefix grows by what a step committed.

    ## Why it matters
    A step keeps the cache slots of its root and its accepted drafts, as many as it commits tokens,
    shifted by one. If the length moves by anything else, the next step reads slots that were never
    written or overwrites kept ones.

    ## How it is computed
    For two steps of a request on end, prefix_len(next) - prefix_len = number of tokens committed.
    Exact.

    ## Example
    Bad: 4 tokens committed and the prefix goes from 20 to 23.
    Good: 4 tokens committed and the prefix goes from 20 to 24.
    """
    pairs = list(consecutive(evidence.steps))
    wrong = [
        f"{before.where} committed {len(before.commit)} tokens and the prefix goes from "
        f"{before.prefix_len} to {after.prefix_len}"
        for before, after in pairs
        if after.prefix_len - before.prefix_len != len(before.commit)
    ]
    if wrong:
        yield some_of(wrong, len(pairs), "pairs of steps")
