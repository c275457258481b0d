from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import HISTOGRAMS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB123",
    "histogram-against-counts",
    Severity.ERROR,
    remedy="Index the histogram by accepted drafts, the bonus left out, once a step.",
    needs=(HISTOGRAMS,),
)
def histogram_against_counts(evidence: Evidence) -> Iterator[Outcome]:
    """The histogram of accepted drafts holds every verify step once, and every draft.

    ## Why it matters
    Acceptance by position, and every prediction made from it, comes from this histogram. One that
    is indexed by commit instead of drafts is shifted by one; one that is updated twice a step, or
    not for every step, does not sum up.

    ## How it is computed
    For each answer: sum(h) = spec_verify_ct, and sum(d * h[d]) = correct drafts. Exact. That the
    survival curve P(d >= k) falls in k and sums to the mean follows from the histogram's form.

    ## Example
    Bad: 10 steps, 20 drafts, histogram with sum(d * h[d]) = 30: it counts the bonus token.
    Good: 10 steps, 20 drafts, histogram 2 1 2 5.
    """
    offenders = []
    checked = 0
    for r in evidence.completed:
        if not r.histogram:
            continue
        checked += 1
        steps = sum(r.histogram)
        drafts = sum(d * n for d, n in enumerate(r.histogram))
        if r.verify_ct is not None and steps != r.verify_ct:
            offenders.append(f"{r.prompt_id} has {r.verify_ct} steps and {steps} in its histogram")
        elif r.correct_drafts is not None and drafts != r.correct_drafts:
            shifted = " (each step shifted by one)" if drafts - r.correct_drafts == steps else ""
            offenders.append(
                f"{r.prompt_id} has {r.correct_drafts} correct drafts and {drafts} in its "
                f"histogram{shifted}"
            )
    if offenders:
        yield some_of(offenders, checked, "histograms")
