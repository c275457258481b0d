"""Which formula a server's "accept rate" follows, found from the lines themselves.

SGLang changed the formula twice under one name, and a log rarely names its version:

    len/(steps+1)    0.5.3.post3 to 0.5.5: the bonus token counts
    len/k            0.5.6 to 0.5.10: likewise, k = speculative_num_draft_tokens
    (len-1)/(k-1)    0.5.11 on: drafts only

The first two divide the same quantity by a whole number m, so lines alone tell them only from the
third; for a chain of drafts steps+1 is k anyway. Each printed (len, rate) pair leaves an interval
of possible divisors; the pairs of one server have one divisor, so the intervals are intersected.
Unknown stays unknown: a version alone decides nothing, for builds carry the version of other code.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class RateFormula(Enum):
    LEN_OVER_M = "len/m"  # one of the next two
    LEN_OVER_STEPS = "len/(steps+1)"
    LEN_OVER_K = "len/k"
    DRAFTS_ONLY = "(len-1)/(k-1)"


MAX_BONUS_DIVISOR = 128  # the widest verification of the versions that counted the bonus
MAX_DRAFT_TOKENS = 1025  # a tree of 1024 nodes and its root
_HALF_UNIT = 0.005  # lengths and rates are printed with two decimals
_FLOAT_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class RateInference:
    """What (len, rate) pairs say about their formula.

    formula: None when they leave more than one open, or contradict all.
    bonus_divisors: the whole numbers m that fit all pairs, were the bonus token counted.
    draft_tokens: every k that fits all pairs, were only drafts counted.
    misfits: pairs that no formula explains by itself; left out of the rest.
    agrees_with_version: None when no version was given, or it or the formula is unknown.
    """

    formula: RateFormula | None
    bonus_divisors: range
    draft_tokens: range
    pairs: int
    misfits: tuple[tuple[float, float], ...]
    agrees_with_version: bool | None


def infer_accept_rate(
    pairs: Iterable[tuple[float, float]],
    *,
    draft_tokens: int | None = None,
    steps: int | None = None,
    version: str | None = None,
) -> RateInference:
    """Infer the formula from the (accept len, accept rate) pairs of one server's decode lines.

    Args:
        pairs: as printed, two decimals; pairs without a verify step (length below 1) say nothing.
        draft_tokens: speculative_num_draft_tokens, where known; narrows what fits.
        steps: speculative_num_steps, where known; tells len/(steps+1) from len/k.
        version: SGLang's version, where known; it is compared with the outcome and decides nothing.
    """
    distinct = sorted({(length, rate) for length, rate in pairs if length >= 1 - _HALF_UNIT})
    divisors = range(2, (draft_tokens or MAX_BONUS_DIVISOR) + 1)  # steps + 1 is at most k
    tokens = range(2, MAX_DRAFT_TOKENS + 1)
    if draft_tokens is not None:
        tokens = _overlap(tokens, range(draft_tokens, draft_tokens + 1))
    misfits = []
    for length, rate in distinct:
        with_bonus = _divisors(length, rate, MAX_BONUS_DIVISOR)
        drafts = _divisors(length - 1, rate, MAX_DRAFT_TOKENS - 1)
        if not with_bonus and not drafts:
            misfits.append((length, rate))
            continue
        divisors = _overlap(divisors, with_bonus)
        tokens = _overlap(tokens, range(drafts.start + 1, drafts.stop + 1))  # from k - 1 to k
    if len(misfits) == len(distinct):
        divisors = tokens = range(0)
    formula = None
    if divisors and not tokens:
        formula = _bonus_formula(divisors, draft_tokens, steps)
    elif tokens and not divisors:
        formula = RateFormula.DRAFTS_ONLY
    return RateInference(
        formula=formula,
        bonus_divisors=divisors,
        draft_tokens=tokens,
        pairs=len(distinct),
        misfits=tuple(misfits),
        agrees_with_version=_agrees(formula, version),
    )


def _bonus_formula(divisors: range, draft_tokens: int | None, steps: int | None) -> RateFormula:
    may_be_k = draft_tokens is None or draft_tokens in divisors
    may_be_steps = steps is None or steps + 1 in divisors
    if may_be_k == may_be_steps:
        return RateFormula.LEN_OVER_M
    return RateFormula.LEN_OVER_K if may_be_k else RateFormula.LEN_OVER_STEPS


def _agrees(formula: RateFormula | None, version: str | None) -> bool | None:
    expected = None if version is None else formula_of_version(version)
    if formula is None or expected is None:
        return None
    if formula is RateFormula.LEN_OVER_M:
        return expected is not RateFormula.DRAFTS_ONLY
    return formula is expected


def formula_of_version(version: str) -> RateFormula | None:
    """The formula of an SGLang release, such as "0.5.3.post3"; None when it printed no rate."""
    match = re.match(r"v?([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?:\.post([0-9]{1,4}))?", version)
    if match is None:
        return None
    release = tuple(int(part or 0) for part in match.groups())
    if release < (0, 5, 3, 3):
        return None
    if release < (0, 5, 6, 0):
        return RateFormula.LEN_OVER_STEPS
    return RateFormula.LEN_OVER_K if release < (0, 5, 11, 0) else RateFormula.DRAFTS_ONLY


def _divisors(quantity: float, rate: float, largest: int) -> range:
    """Whole numbers m from 1 with quantity / m == rate, both as printed, and the rate at most 1."""
    low_quantity, high_quantity = quantity - _HALF_UNIT, quantity + _HALF_UNIT
    low_rate, high_rate = max(rate - _HALF_UNIT, 0.0), min(rate + _HALF_UNIT, 1.0)
    if high_quantity < 0 or low_rate > 1:
        return range(0)
    low = max(1, math.ceil(max(low_quantity, 0.0) / high_rate - _FLOAT_SLACK))
    high = largest
    if low_rate > 0:
        high = min(largest, math.floor(high_quantity / low_rate + _FLOAT_SLACK))
    return range(low, high + 1)


def _overlap(one: range, other: range) -> range:
    return range(max(one.start, other.start), min(one.stop, other.stop))
