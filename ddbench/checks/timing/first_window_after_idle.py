from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean, median

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import STAMP_UNIT_S
from ddbench.checks.needs import THROUGHPUT
from ddbench.checks.rule import rule
from ddbench.checks.window_steps import by_rank
from ddbench.records import DecodeWindow

FEWEST_WINDOWS = 3
SHARE = 0.05
LONG_GAP = 3.0


@rule(
    "DDB208",
    "first-window-after-idle",
    Severity.INFO,
    remedy="Leave the first window after a pause out of any mean of throughput.",
    needs=(THROUGHPUT,),
)
def first_window_after_idle(evidence: Evidence) -> Iterator[Outcome]:
    """The first line after a pause spreads its tokens over the pause, and pulls the mean down.

    ## Why it matters
    1.0 tok/s beside 480 is no slow window: throughput is tokens over the time since the previous
    line, waiting included. A plain mean of the printed values is wrong by its share.

    ## How it is computed
    Left out are each rank's first line, and lines whose gap is over three times the median gap and
    two seconds. Fires when the mean of the printed values differs by over 5 % without them.

    ## Example
    Bad: 1.0, 480, 481: mean 321.
    Good: 480, 481, 479.
    """
    every: list[float] = []
    steady: list[float] = []
    for rank in by_rank(evidence.windows):
        values = [w.throughput_tokens_per_s for w in rank if w.throughput_tokens_per_s is not None]
        every += values
        steady += [
            w.throughput_tokens_per_s
            for w in _without_pauses(rank)
            if w.throughput_tokens_per_s is not None
        ]
    if len(steady) < FEWEST_WINDOWS:
        yield Lacks(f"{FEWEST_WINDOWS} windows that follow another")
        return
    plain, kept = fmean(every), fmean(steady)
    if abs(plain - kept) > SHARE * kept:
        yield (
            f"mean throughput is {plain:.1f} tok/s over all {len(every)} lines and {kept:.1f} "
            f"without the {len(every) - len(steady)} that follow a pause"
        )


def _without_pauses(rank: list[DecodeWindow]) -> list[DecodeWindow]:
    gaps = [_gap_s(before, now) for before, now in pairwise(rank)]
    known = [gap for gap in gaps if gap is not None]
    limit = max(LONG_GAP * median(known), 2 * STAMP_UNIT_S) if known else float("inf")
    return [w for w, gap in zip(rank[1:], gaps, strict=True) if gap is None or gap <= limit]


def _gap_s(before: DecodeWindow, now: DecodeWindow) -> float | None:
    if before.logged_at is None or now.logged_at is None:
        return None
    return (now.logged_at - before.logged_at).total_seconds()
