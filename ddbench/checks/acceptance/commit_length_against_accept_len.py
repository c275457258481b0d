from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT, counts_after_the_cut, depth_limit
from ddbench.checks.needs import ACCEPT_LEN
from ddbench.checks.rule import rule
from ddbench.checks.window_steps import by_rank, cut_bounds

TWO_PRINTED = 2 * PRINTED_HALF_UNIT + 1e-9


@rule(
    "DDB102",
    "commit-length-against-accept-len",
    Severity.ERROR,
    remedy="Print numerator and denominator of both means on one line and compare them.",
    needs=(ACCEPT_LEN,),
)
def commit_length_against_accept_len(evidence: Evidence) -> Iterator[Outcome]:
    """avg_commit_len and accept len of one line count the same steps.

    ## Why it matters
    Both are the mean number of tokens that a step yields. If they part by more than the cut at the
    end of an answer explains, one of them is over other steps, or lacks the bonus token, and
    whatever is concluded from it is wrong.

    ## How it is computed
    For each window, difference = accept len - avg_commit_len. Up to SGLang 0.5.11 both are taken
    after the cut: it must be 0. Later versions count accept len before it: 0 to F*D/S, with F
    requests that ended in the window or its neighbours, D the depth limit, S request-steps;
    without such a count only a negative difference or one over 1 is an error. Tolerance 0.01.
    A difference of 1.00 in most windows and of no less in the others is naming: commit lacks the
    bonus token.

    ## Example
    Bad: accept len: 4.00 with avg_commit_len=3.00 in every line.
    Good: accept len: 3.95 with avg_commit_len=3.92 while two answers ended.
    """
    depth = depth_limit(evidence)
    exact = counts_after_the_cut(evidence)
    seen = 0
    broken: list[tuple[float, float, float]] = []
    differences: list[float] = []
    unknown = False
    for rank in by_rank(evidence.windows):
        for window, bound in zip(rank, cut_bounds(evidence, rank, depth), strict=True):
            if not window.accept_len_logged or window.commit_len is None:
                continue
            seen += 1
            allowed = 0.0 if exact else 1.0 if bound is None else bound
            difference = window.accept_len_logged - window.commit_len
            differences.append(difference)
            unknown |= not exact and bound is None and difference > TWO_PRINTED
            if not -TWO_PRINTED <= difference <= allowed + TWO_PRINTED:
                broken.append((window.accept_len_logged, window.commit_len, allowed))
    if not seen:
        yield Lacks("log windows with avg_commit_len")
    elif _lacks_the_bonus(differences):
        yield Found(
            f"accept len is 1.00 above avg_commit_len in most of {seen} windows, no less in any: "
            "commit does not count the bonus token",
            remedy="Count the bonus in avg_commit_len, or say in its name that it does not.",
        )
    elif broken:
        logged, commit, allowed = max(broken, key=lambda pair: abs(pair[0] - pair[1]))
        yield (
            f"accept len {logged:.2f} against avg_commit_len {commit:.2f} in the worst of "
            f"{len(broken)} of {seen} windows; the cut at the end of answers explains at most "
            f"{allowed:.2f}"
        )
    elif unknown:
        yield Lacks("finished counts (running and prefill lines, --decode-log-interval)")


def _lacks_the_bonus(differences: list[float]) -> bool:
    """A cut at the end of answers adds to some windows; it does not reach all of them."""
    exact = sum(abs(difference - 1.0) <= TWO_PRINTED for difference in differences)
    least = min(differences)
    return len(differences) > 1 and 2 * exact > len(differences) and least >= 1.0 - TWO_PRINTED
