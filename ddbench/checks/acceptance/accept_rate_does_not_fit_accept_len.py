from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Found, Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT, is_uno, number_setting
from ddbench.checks.needs import ACCEPT_RATE
from ddbench.checks.offenders import some_of
from ddbench.checks.rate_pairs import rate_pairs, spelt
from ddbench.checks.rule import rule
from ddbench.stats.accept_rate import infer_accept_rate


@rule(
    "DDB105",
    "accept-rate-does-not-fit-accept-len",
    Severity.ERROR,
    remedy="Do not use accept rate of this log; find which of the two counters was changed.",
    needs=(ACCEPT_RATE,),
)
def accept_rate_does_not_fit_accept_len(evidence: Evidence) -> Iterator[Outcome]:
    """accept rate and accept len of a line come from the same counts, so one gives the other.

    ## Why it matters
    Every SGLang computes the rate from the same drafts, by one of two formulas. A line that fits
    neither was edited, or a patch changed one counter and not the other. A width that differs from
    the server's own num_draft_tokens means that the verified width is another one, and the rate is
    then a share of something else.

    ## How it is computed
    For each line, find all whole k >= 2 with rate = (len - 1)/(k - 1) (drafts only, from 0.5.11) or
    rate = len/k (bonus counted, before), within half a printed unit of both numbers (0.005). Every
    line must fit some k, and one k must fit all lines. It must equal speculative_num_draft_tokens
    where that is known. A rate above 1 is impossible. UNO and adaptive widths are left out.

    ## Example
    Bad: accept len: 3.00, accept rate: 0.50 beside accept len: 3.00, accept rate: 0.29.
    Good: accept len: 3.00, accept rate: 0.29 and accept len: 4.50, accept rate: 0.50 (k = 8).
    """
    if is_uno(evidence) or evidence.settings.get("speculative_adaptive") == "True":
        return
    above = [
        f"{w.accept_rate_logged:.2f}"
        for w in evidence.windows
        if w.accept_rate_logged is not None and w.accept_rate_logged > 1 + PRINTED_HALF_UNIT
    ]
    if above:
        yield Found(
            f"accept rate above 1 in {some_of(above, len(evidence.windows), 'windows')}",
            remedy="Ignore the rate: only its numerator counts the bonus token.",
        )
        return
    fit = infer_accept_rate(rate_pairs(evidence))
    if fit.misfits:
        lines = [f"accept len {length:.2f}, accept rate {rate:.2f}" for length, rate in fit.misfits]
        yield f"no width explains {some_of(lines, fit.pairs, 'distinct pairs')}"
        return
    if not fit.draft_tokens and not fit.bonus_divisors:
        yield (
            f"no single width explains all {fit.pairs} distinct pairs, though each alone could be "
            "right"
        )
        return
    asked = number_setting(evidence, "speculative_num_draft_tokens")
    if asked is None or asked < 2 or asked in fit.draft_tokens or asked in fit.bonus_divisors:
        return
    yield Found(
        f"the lines obey a width of {spelt(fit.draft_tokens or fit.bonus_divisors)}, "
        f"the server says speculative_num_draft_tokens {asked}",
        remedy="Check the width that is verified; use accept len, not the rate.",
    )
