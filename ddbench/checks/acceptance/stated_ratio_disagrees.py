from collections.abc import Iterator
from math import isclose

from ddbench.checks.evidence import Evidence, StatedRatios
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.limits import number_setting
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import Need, rule

STATED: Need[Evidence] = Need(
    "answers with SGLang's own ratios (raw response files)", lambda e: bool(e.stated)
)
RELATIVE = 1e-6


@rule(
    "DDB121",
    "stated-ratio-disagrees",
    Severity.ERROR,
    remedy="Use the counts, not the ratios; check that the ratio is of a stream's last chunk.",
    needs=(STATED,),
)
def stated_ratio_disagrees(evidence: Evidence) -> Iterator[Outcome]:
    """The ratios in an answer must follow from the counts beside them.

    ## Why it matters
    spec_accept_length and spec_accept_rate are what other tools copy. A ratio that does not follow
    from its counts was computed on part of a stream, or divides by another width than is verified.
    Note what the ratio is: spec_accept_length contains the prefill's token, so it exceeds the mean
    commit by (1 + retractions)/verify_ct, and more so for short answers. That is no fault; it is
    why an API reads higher than a log.

    ## How it is computed
    spec_accept_length * verify_ct = completion_tokens (relative 1e-6);
    spec_accept_rate * proposed = drafts; proposed = verify_ct * (num_draft_tokens - 1) where the
    server's arguments are known and the width is not adaptive; 0 <= rate <= 1.

    ## Example
    Bad: 64 tokens in 48 steps and spec_accept_length 1.31.
    Good: 64 tokens in 48 steps and spec_accept_length 1.333.
    """
    width = number_setting(evidence, "speculative_num_draft_tokens")
    if evidence.settings.get("speculative_adaptive") == "True":
        width = None
    offenders = [
        f"{s.request.prompt_id}: {what}" for s in evidence.stated for what in _odd(s, width)
    ]
    if offenders:
        yield some_of(offenders, len(evidence.stated), "answers with ratios")


def _odd(stated: StatedRatios, width: int | None) -> Iterator[str]:
    steps, tokens = stated.request.verify_ct, stated.request.completion_tokens
    if not steps:
        return
    length, rate, proposed = stated.accept_length, stated.accept_rate, stated.proposed_drafts
    if length is not None and not isclose(length * steps, tokens, rel_tol=RELATIVE):
        yield f"spec_accept_length {length:.4f} is not {tokens} tokens / {steps} steps"
    if rate is not None and not 0.0 <= rate <= 1.0:
        yield f"spec_accept_rate {rate:.4f} is no share"
    if proposed is not None and width is not None and proposed != steps * (width - 1):
        yield f"{proposed} proposed drafts are not {steps} steps of {width - 1}"
    drafts = stated.request.correct_drafts
    drafts = stated.request.committed_drafts if drafts is None else drafts
    if rate is None or not proposed or drafts is None:
        return
    if not isclose(rate * proposed, drafts, rel_tol=RELATIVE, abs_tol=RELATIVE):
        yield f"spec_accept_rate {rate:.4f} is not {drafts} of {proposed} drafts"
