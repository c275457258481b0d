from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import SPECULATIVE_ARM
from ddbench.checks.rule import rule
from ddbench.checks.tokens_per_step import tokens_per_step

CONCLUSIVE_STEPS = 300
NEAR_ONE = 1.10


@rule(
    "DDB108",
    "acceptance-near-one",
    Severity.WARNING,
    remedy="Run the drafter in its authors' own code on the same prompts and compare acceptance.",
    needs=(SPECULATIVE_ARM,),
)
def acceptance_near_one(evidence: Evidence) -> Iterator[Outcome]:
    """A drafter is accepted now and then, but far too seldom to pay.

    ## Why it matters
    Between 1.00 and 1.10 tokens a step is what a drafter reaches whose block is laid out one
    position off (1.06 was measured against 2.76 on the model card), whose KV cache or weights are
    quantised too coarsely, or that was trained for another target or chat template. It is also
    what an untrained drafter reaches. The text is right all the same, so nothing else shows it.

    ## How it is computed
    Mean accept len over request-steps of the log (or, without a log, tokens per verify step of the
    answers) in (1.00, 1.10], over at least 300 request-steps.

    ## Example
    Bad: 1.06 tokens a step over 47,411 steps.
    Good: 1.46.
    """
    measured = tokens_per_step(evidence)
    if measured is None:
        yield Lacks("log windows with accept len, or answers with spec_verify_ct")
    elif measured.steps >= CONCLUSIVE_STEPS and 1.0 + 1e-9 < measured.mean <= NEAR_ONE:
        yield (
            f"{measured.mean:.2f} tokens a step over about {measured.steps:.0f} steps "
            f"({measured.source}): drafts are hardly ever accepted"
        )
