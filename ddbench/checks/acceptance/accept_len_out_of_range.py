from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT, depth_limit, is_uno
from ddbench.checks.needs import ACCEPT_LEN
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule


@rule(
    "DDB104",
    "accept-len-out-of-range",
    Severity.ERROR,
    remedy="Check what the server divides by what, and that the log belongs to this setting.",
    needs=(ACCEPT_LEN,),
)
def accept_len_out_of_range(evidence: Evidence) -> Iterator[Outcome]:
    """A step commits at least the bonus token and at most depth + 1 tokens.

    ## Why it matters
    Below 1 some steps committed nothing; above D + 1 more was accepted than could be drafted. The
    first hints at a denominator that counts steps without verification, the second at a walk over
    padding, at a wrong width, or at a log from another setting.

    ## How it is computed
    1 <= accept len <= D + 1 for every decode line, D = min(block size - 1, budget), within half a
    printed unit (0.005). Without the drafting setting only the lower bound is checked. Lines with
    0.00 hold no data. UNO commits tokens that were not drafted and has no upper bound.

    ## Example
    Bad: accept len: 9.21 with block size 8.
    Good: accept len: 8.00 with block size 8: everything was accepted.
    """
    limit = None if is_uno(evidence) else depth_limit(evidence)
    logged = [w.accept_len_logged for w in evidence.windows if w.accept_len_logged]
    low = [f"{value:.2f}" for value in logged if value < 1.0 - PRINTED_HALF_UNIT]
    if low:
        yield f"accept len below 1 in {some_of(low, len(logged), 'windows')}"
    if limit is None:
        return
    high = [f"{value:.2f}" for value in logged if value > limit + 1 + PRINTED_HALF_UNIT]
    if high:
        yield (
            f"accept len above {limit + 1}, all that a step of depth {limit} can commit, in "
            f"{some_of(high, len(logged), 'windows')}"
        )
