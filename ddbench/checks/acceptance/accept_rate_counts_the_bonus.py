from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import ACCEPT_RATE
from ddbench.checks.rate_pairs import rate_pairs, spelt
from ddbench.checks.rule import rule
from ddbench.stats.accept_rate import infer_accept_rate


@rule(
    "DDB106",
    "accept-rate-counts-the-bonus",
    Severity.INFO,
    remedy="Compare (accept len - 1)/(k - 1) between versions, never the printed rate.",
    needs=(ACCEPT_RATE,),
)
def accept_rate_counts_the_bonus(evidence: Evidence) -> Iterator[Outcome]:
    """This log's accept rate counts the bonus token, as SGLang before 0.5.11 did.

    ## Why it matters
    len/k is never 0: a drafter of which nothing is accepted still shows 0.25 at k = 4, and looks
    merely weak. Against a newer server the same acceptance reads differently.

    ## How it is computed
    All (accept len, accept rate) pairs are solved for a whole k under both formulas, within half a
    printed unit. It is said only when len/k alone fits every line. The lines decide, not the
    version: logs of a later date that obey the old formula exist.

    ## Example
    Bad: accept len: 1.00, accept rate: 0.25: nothing is accepted, and the rate hides it.
    Good: accept len: 1.00, accept rate: 0.00.
    """
    fit = infer_accept_rate(rate_pairs(evidence), version=evidence.server_version)
    if fit.bonus_divisors and not fit.draft_tokens:
        against = (
            f", though SGLang {evidence.server_version} counts drafts only"
            if fit.agrees_with_version is False
            else ""
        )
        yield (
            f"accept rate is accept len / {spelt(fit.bonus_divisors)} in all {fit.pairs} distinct "
            f"pairs: the bonus token is counted as an accepted draft{against}"
        )
