from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT, depth_limit
from ddbench.checks.needs import DEPTH_AND_COMMIT
from ddbench.checks.rule import rule
from ddbench.checks.window_steps import by_rank, cut_bounds
from ddbench.records import DecodeWindow

TWO_PRINTED = 2 * PRINTED_HALF_UNIT + 1e-9  # a difference of two printed numbers


@dataclass(frozen=True, slots=True)
class _Excess:
    """depth + 1 - commit of one window; `allowed` is F*D/S, None when no count was available."""

    window: DecodeWindow
    index: int
    value: float
    allowed: float | None

    @property
    def broken(self) -> bool:
        limit = 1.0 if self.allowed is None else self.allowed
        return self.value > limit + TWO_PRINTED or self.value < -TWO_PRINTED


@rule(
    "DDB101",
    "accepted-depth-against-commit-length",
    Severity.ERROR,
    remedy="Log accepted_indices, and compare sum(commit) with completion_tokens.",
    needs=(DEPTH_AND_COMMIT,),
)
def accepted_depth_against_commit_length(evidence: Evidence) -> Iterator[Outcome]:
    """The accepted depth plus the bonus token must be what a step commits.

    ## Why it matters
    A step that accepts d drafted tokens appends d + 1: the drafts and the target's own next token.
    Only the end of an answer may cut that. When the two part, either a counter is defined
    differently from its name, or accepted tokens are really lost: the tree walks deep, and the
    server keeps only the contiguous part of the path, so all that drafting buys nothing.

    ## How it is computed
    For each window, excess = avg_accepted_depth + 1 - avg_commit_len. It must lie between 0 and
    F*D/S: F requests that ended in the window (running before + admitted - running now, over the
    window and its neighbours), D = min(block size - 1, budget), S request-steps. Without such a
    count an excess over 1 is still an error, and so is, with any, one of 1.00 or 2.00 in most
    windows and of no less in the others.
    Tolerance: two numbers printed with two decimals, 0.01. The verdict follows from the pattern:

        excess 1.00 everywhere                 depth counts the root, or commit lacks the bonus
        excess 2.00 everywhere                 both
        excess only at #running-req > 1        a row of the batch is read in another's place
        excess only in the first windows       warm-up steps counted on one side
        depth beyond D                         the walk runs over padding or stale child maps
        any other excess                       only the contiguous slots of the path are committed

    ## Example
    Bad: avg_accepted_depth=7.00 avg_commit_len=2.00: 6.00 tokens a step are accepted and not kept.
    Good: avg_accepted_depth=2.71 avg_commit_len=3.70, one of eight requests ended in the window.
    """
    excesses = [
        excess for rank in by_rank(evidence.windows) for excess in _excesses(evidence, rank)
    ]
    broken = [excess for excess in excesses if excess.broken]
    constant = _constant_naming(excesses)
    if not broken and constant is None:
        if all(excess.allowed is None for excess in excesses) and any(
            excess.value > TWO_PRINTED for excess in excesses
        ):
            yield Lacks("finished counts (running and prefill lines, --decode-log-interval)")
        return
    worst = max(broken or excesses, key=lambda excess: abs(excess.value))
    meaning, next_test = _verdict(evidence, excesses, broken, constant)
    counted = (
        "no finished count was available"
        if worst.allowed is None
        else f"requests that ended explain at most {worst.allowed:.2f}"
    )
    yield Found(
        f"avg_accepted_depth={worst.window.accepted_depth:.2f} and "
        f"avg_commit_len={worst.window.commit_len:.2f}: depth + 1 exceeds commit by "
        f"{worst.value:.2f} in {len(broken) or len(excesses)} of {len(excesses)} windows "
        f"({counted}). Possible causes: {meaning}",
        remedy=next_test,
    )


def _excesses(evidence: Evidence, rank: Sequence[DecodeWindow]) -> Iterator[_Excess]:
    bounds = cut_bounds(evidence, rank, depth_limit(evidence))
    for index, (window, allowed) in enumerate(zip(rank, bounds, strict=True)):
        if window.accepted_depth is None or window.commit_len is None:
            continue
        excess = window.accepted_depth + 1.0 - window.commit_len
        yield _Excess(window, index, excess, allowed)


def _constant_naming(excesses: Sequence[_Excess]) -> int | None:
    """1 or 2 when every window is off by that at least, and most by just that.

    A cut at end-of-text adds to some windows; it does not reach all of them.
    """
    if len(excesses) < 2:
        return None
    for offset in (2, 1):
        exact = sum(abs(excess.value - offset) <= TWO_PRINTED for excess in excesses)
        if 2 * exact > len(excesses) and _least(excesses) >= offset - TWO_PRINTED:
            return offset
    return None


def _least(excesses: Sequence[_Excess]) -> float:
    return min(excess.value for excess in excesses)


def _verdict(
    evidence: Evidence,
    excesses: Sequence[_Excess],
    broken: Sequence[_Excess],
    constant: int | None,
) -> tuple[str, str]:
    """The row of the signature table that fits, and the test that tells its causes apart."""
    depth = depth_limit(evidence)
    if constant == 1:
        return _one_too_many(excesses)
    if constant == 2:
        return (
            "avg_accepted_depth counts the root, and avg_commit_len leaves out the bonus token.",
            "Compare avg_commit_len with accept len of the same lines, then correct both.",
        )
    if any(excess.value < -TWO_PRINTED for excess in broken):
        return (
            "more is committed than was accepted: commit counts steps or requests twice, or depth "
            "is averaged over more steps than commit.",
            "Print both sums and both denominators on one line, at concurrency 1.",
        )
    if depth is not None and any((e.window.accepted_depth or 0.0) > depth for e in broken):
        return (
            f"a depth beyond {depth} cannot be drafted: the walk runs over padded nodes, stale "
            "child maps or another request's row.",
            "Record a step trace and read DDB140, DDB141 and DDB147.",
        )
    running = {bool((e.window.running_requests or 0) > 1) for e in broken}
    quiet = [e for e in excesses if not e.broken]
    if running == {True} and any(e.window.running_requests == 1 for e in quiet):
        return (
            "it happens only with several requests running: rows of the batch are mixed up, or "
            "one mean is over steps and the other over request-steps.",
            "Run concurrency 1, then 2 with prompts of unequal length; compare the step traces.",
        )
    if quiet and max(e.index for e in broken) < min(e.index for e in quiet):
        return (
            "it happens only in the first windows: warm-up, graph capture or health-check steps "
            "are counted in one of the two.",
            "Clear the counters after warm-up and run again.",
        )
    return _tokens_are_lost(broken)


def _one_too_many(excesses: Sequence[_Excess]) -> tuple[str, str]:
    compared = [
        (e.window.commit_len or 0.0) - e.window.accept_len_logged
        for e in excesses
        if e.window.accept_len_logged
    ]
    usual = median(compared) if compared else None  # cuts take a little off some windows
    if usual is not None and abs(usual) <= TWO_PRINTED:
        return (
            "avg_accepted_depth counts the root (avg_commit_len equals accept len).",
            "Log len(accepted_indices) - 1 as the depth.",
        )
    if usual is not None and abs(usual + 1.0) <= TWO_PRINTED:
        return (
            "avg_commit_len leaves out the bonus token (accept len is 1 higher).",
            "Count the bonus in commit; if the text lacks tokens too, it is lost for real.",
        )
    return (
        "avg_accepted_depth counts the root, or avg_commit_len leaves out the bonus token.",
        "Compare avg_commit_len with accept len: equal, the depth counts the root; 1 lower, the "
        "commit lacks the bonus.",
    )


def _tokens_are_lost(broken: Sequence[_Excess]) -> tuple[str, str]:
    witness = ""
    for e in broken:
        if e.window.accept_len_logged is None or e.window.commit_len is None:
            continue
        if abs(e.window.accept_len_logged - e.window.commit_len) <= TWO_PRINTED:
            witness = " accept len agrees with commit, so the tokens are lost, not miscounted."
        elif abs(e.window.accept_len_logged - 1.0 - (e.window.accepted_depth or 0.0)) < 0.5:
            witness = " accept len agrees with depth, so commit is miscounted or made later."
        break
    return (
        "only the contiguous slots of the accepted path are committed (no compaction of the KV "
        "cache), commit comes from a linear compare, or commit is clipped to the block size."
        + witness,
        "Log accepted_indices and how often they equal range(d + 1); compare sum(commit) with "
        "completion_tokens; run topk 1, where the excess must vanish. Take both numbers from one "
        "run at one concurrency.",
    )
