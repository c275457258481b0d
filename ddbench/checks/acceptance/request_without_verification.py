from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import SPECULATIVE_ARM, VERIFY_COUNTS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB125",
    "request-without-verification",
    Severity.ERROR,
    remedy="Look what these requests share: a grammar, log-probabilities, sampling, images.",
    needs=(SPECULATIVE_ARM, VERIFY_COUNTS),
)
def request_without_verification(evidence: Evidence) -> Iterator[Outcome]:
    """Some answers of a drafting arm were made without any verify step.

    ## Why it matters
    Speculation can be switched off silently for single requests. A mean over both kinds is the
    acceptance of neither, and the arm's speed is a mixture.

    ## How it is computed
    spec_verify_ct is absent or 0 just when the request ended in prefill (completion_tokens <= 1).
    Fires for longer answers without it, and for one-token answers with it, when other answers of
    the run have counts (DDB117 covers the run in which none has).

    ## Example
    Bad: 3 of 48 answers have 64 tokens and no spec_verify_ct.
    Good: one answer of 1 token has none.
    """
    offenders = []
    for r in evidence.completed:
        if r.completion_tokens > 1 and not r.verify_ct:
            offenders.append(f"{r.prompt_id} has {r.completion_tokens} tokens and no verify step")
        elif r.completion_tokens <= 1 and (r.verify_ct or 0) > 1:
            offenders.append(
                f"{r.prompt_id} ended in prefill and reports {r.verify_ct} verify steps"
            )
    if offenders:
        yield some_of(offenders, len(evidence.completed), "answers")
