from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT
from ddbench.checks.needs import SPECULATIVE_ARM
from ddbench.checks.rule import rule
from ddbench.checks.window_steps import by_rank, steps_a_window
from ddbench.records import DecodeWindow

CONCLUSIVE_STEPS = 300  # nothing in 300 steps: fewer than 1 % accept, with 95 % confidence
HEALTHY = 1.05


@dataclass(frozen=True, slots=True)
class _Spell:
    """A run of lines in which nothing was accepted, and what stood before it."""

    windows: int
    steps: int
    mean_before: float | None
    eager: bool


@rule(
    "DDB107",
    "nothing-ever-accepted",
    Severity.ERROR,
    remedy="Check that all drafter weights were loaded, and that drafter and target are a pair.",
    needs=(SPECULATIVE_ARM,),
)
def nothing_ever_accepted(evidence: Evidence) -> Iterator[Outcome]:
    """No drafted token was accepted for hundreds of steps: speculation only costs.

    ## Why it matters
    Even a poor drafter guesses a comma now and then. Pinned at 1.00/0.00 from the start, drafter
    weights were dropped or left unscaled, the layout is shifted by one position, or the pair does
    not match. Pinned after a healthy phase, the server is poisoned: it stays so until a restart.

    ## How it is computed
    The longest run of lines with accept len 1.00 and requests running, times the steps a line
    stands for; or, from the answers, sum(correct drafts) = 0. At 300 request-steps a true rate of
    1 % would be missed with probability 0.05. "From boot" when no line before was above 1.05.
    Trials that record drafts (record_drafts) keep one token a step on purpose, and are exempt.

    ## Example
    Bad: accept len: 1.00, accept rate: 0.00 in 339 of 339 lines.
    Good: accept len: 1.00 in 3 lines of 1 step each.
    """
    if evidence.load is not None and evidence.load.record_drafts:
        return
    spells = [s for rank in by_rank(evidence.windows) if (s := _longest(evidence, rank))]
    spell = max(spells, key=lambda s: s.steps, default=None)
    if spell is not None and spell.steps >= CONCLUSIVE_STEPS:
        graph = ", all without CUDA graph" if spell.eager else ""
        what = f"accept len 1.00 in {spell.windows} lines on end (about {spell.steps} steps{graph})"
        if spell.mean_before is not None and spell.mean_before > HEALTHY:
            yield Found(
                f"{what}, after a healthy phase with {spell.mean_before:.2f}",
                remedy="Restart the server (flushing is not enough); drop what was measured since.",
            )
        else:
            yield f"{what}, from boot"
        return
    drafts = [r.correct_drafts for r in evidence.completed if r.correct_drafts is not None]
    steps = sum(r.verify_ct or 0 for r in evidence.completed if r.correct_drafts is not None)
    if drafts and steps >= CONCLUSIVE_STEPS and not sum(drafts):
        yield f"0 drafts accepted in {steps} verify steps of {len(drafts)} answers"
    elif spell is None and not drafts:
        yield Lacks("log windows with accept len, or answers with draft counts")


def _longest(evidence: Evidence, rank: Sequence[DecodeWindow]) -> _Spell | None:
    interval = steps_a_window(evidence)
    best: _Spell | None = None
    before: list[float] = []
    spell: list[DecodeWindow] = []
    for window in rank:
        if not window.accept_len_logged or window.running_requests == 0:
            continue  # idle steps of a data-parallel rank accept nothing by construction
        if window.accept_len_logged <= 1.0 + PRINTED_HALF_UNIT:
            spell.append(window)
        else:
            before.extend(w.accept_len_logged or 1.0 for w in spell)
            before.append(window.accept_len_logged)
            spell = []
        steps = sum(interval * (w.running_requests or 1) for w in spell)
        if best is None or steps > best.steps:
            mean = sum(before) / len(before) if before else None
            best = _Spell(len(spell), steps, mean, all(w.graph is False for w in spell))
    return best
