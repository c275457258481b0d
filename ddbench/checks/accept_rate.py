"""Which formula a log's "accept rate" obeys, solved from its own (accept len, accept rate) pairs.

SGLang changed it three times, so the version alone does not say. Each pair allows a range of widths
k = num_draft_tokens under each formula; what is common to all pairs is what the log obeys.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor

from ddbench.checks.limits import PRINTED_HALF_UNIT
from ddbench.records import DecodeWindow

WIDEST = 1025  # num_draft_tokens, above any budget in use
HALF = PRINTED_HALF_UNIT + 1e-9


@dataclass(frozen=True, slots=True)
class RateFormulas:
    """The widths k that fit every pair, by formula; an empty range when none does.

    drafts_only: rate = (len - 1) / (k - 1). with_bonus: rate = len / k.
    misfits: pairs that no k fits under either formula, alone.
    """

    drafts_only: range
    with_bonus: range
    misfits: tuple[tuple[float, float], ...]
    pairs: int


def infer_formulas(windows: Iterable[DecodeWindow]) -> RateFormulas:
    """Intersect the widths of all pairs; lines without data (accept len 0.00) are left out."""
    drafts_only = with_bonus = range(2, WIDEST + 1)
    misfits = []
    pairs = 0
    for window in windows:
        length, rate = window.accept_len_logged, window.accept_rate_logged
        if not length or rate is None:
            continue
        pairs += 1
        denominators = _denominators(length - 1.0, rate)
        new = range(denominators.start + 1, denominators.stop + 1)
        old = _denominators(length, rate)
        if not _common(new, range(2, WIDEST + 1)) and not _common(old, range(2, WIDEST + 1)):
            misfits.append((length, rate))
        drafts_only, with_bonus = _common(drafts_only, new), _common(with_bonus, old)
    return RateFormulas(drafts_only, with_bonus, tuple(misfits), pairs)


def _denominators(numerator: float, rate: float) -> range:
    """Whole numbers n with numerator / n == rate, both rounded to two decimals; from 1 on."""
    most = WIDEST if rate <= HALF else floor((numerator + HALF) / (rate - HALF))
    return range(max(1, ceil((numerator - HALF) / (rate + HALF))), most + 1)


def _common(a: range, b: range) -> range:
    return range(max(a.start, b.start), min(a.stop, b.stop))


def spelt(widths: range) -> str:
    """ "8", or "7 to 9": the widths in words."""
    return str(widths[0]) if len(widths) == 1 else f"{widths[0]} to {widths[-1]}"
