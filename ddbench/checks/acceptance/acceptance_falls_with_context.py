from collections.abc import Iterator
from statistics import fmean

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import ACCEPT_LEN
from ddbench.checks.rule import rule
from ddbench.stats.trend import rank_correlation

FEWEST_WINDOWS = 60
LONG_CONTEXT = 8192
NOTABLE_DROP = 0.2
P_VALUE = 1e-4


@rule(
    "DDB113",
    "acceptance-falls-with-context",
    Severity.WARNING,
    remedy="Check the drafter's trained length and window, and its rope scaling, at long context.",
    needs=(ACCEPT_LEN,),
)
def acceptance_falls_with_context(evidence: Evidence) -> Iterator[Outcome]:
    """Acceptance falls as the context grows.

    ## Why it matters
    A drafter that was trained on short texts, whose window is cut, or whose positions are scaled
    differently from the target's, drafts well at first and badly at 32 thousand tokens (1.57 in
    one report). Figures from short prompts then do not hold for long ones.

    ## How it is computed
    #token / #running-req as the context of a window, over at least 60 windows that reach 8,192
    tokens: accept len of the shortest third against the longest, a drop of over 20 % with a
    negative rank correlation (Spearman, p < 0.0001). Prefixes shared in the cache count as well.

    ## Example
    Bad: 3.1 below 4,000 tokens and 1.57 above 32,000.
    Good: 3.1 and 2.9.
    """
    points = sorted(
        (w.kv_tokens / w.running_requests, w.accept_len_logged)
        for w in evidence.windows
        if w.kv_tokens and w.running_requests and w.accept_len_logged
    )
    if len(points) < FEWEST_WINDOWS or points[-1][0] < LONG_CONTEXT:
        yield Lacks(f"{FEWEST_WINDOWS} windows that reach {LONG_CONTEXT} tokens a request")
        return
    third = len(points) // 3
    short, long = fmean(a for _, a in points[:third]), fmean(a for _, a in points[-third:])
    trend = rank_correlation([context for context, _ in points], [a for _, a in points])
    if long < (1.0 - NOTABLE_DROP) * short and trend.rho < 0 and trend.p_value < P_VALUE:
        yield (
            f"accept len is {short:.2f} up to {points[third - 1][0]:.0f} tokens of context and "
            f"{long:.2f} from {points[-third][0]:.0f}"
        )
