from collections.abc import Iterator

from ddbench.checks.evidence import DraftCounts, Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import Need, rule

COUNTS: Need[Evidence] = Need(
    "log lines that count accepted, drafted and emitted tokens",
    lambda e: any(c.accepted is not None for c in e.draft_counts),
)


@rule(
    "DDB130",
    "more-accepted-than-emitted",
    Severity.ERROR,
    remedy="Do not use this acceptance: it counts drafts behind a rejection or the end.",
    needs=(COUNTS,),
)
def more_accepted_than_emitted(evidence: Evidence) -> Iterator[Outcome]:
    """No more drafts can be accepted than tokens come out, or than were drafted.

    ## Why it matters
    Acceptance of a prefix stops at the first rejection. A server that counts every position that
    happens to match, or drafts behind the end of the answer, reports 44 accepted where 12 tokens
    were emitted, and an acceptance that no speed corresponds to.

    ## How it is computed
    For each line with counts (vLLM's): accepted <= emitted and accepted <= drafted. Exact.

    ## Example
    Bad: Number of accepted tokens: 44, Number of emitted tokens: 12.
    Good: accepted 44, drafted 80, emitted 60.
    """
    odd = [what for counts in evidence.draft_counts if (what := _breach(counts))]
    if odd:
        yield some_of(odd, len(evidence.draft_counts), "lines")


def _breach(counts: DraftCounts) -> str | None:
    if counts.accepted is None:
        return None
    for name, limit in (("emitted", counts.emitted), ("drafted", counts.drafted)):
        if limit is not None and counts.accepted > limit:
            return f"{counts.accepted} tokens accepted and {limit} {name}"
    return None
