from collections import Counter
from collections.abc import Iterator, Sequence

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import OUTPUT_IDS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule
from ddbench.records import RequestCompleted

FEWEST_TO_LEARN_FROM = 3
END_TOKENS_OF_A_MODEL = 3  # end-of-text, end-of-turn, and one more


@rule(
    "DDB127",
    "tokens-after-the-end",
    Severity.ERROR,
    remedy="Check that an accepted block is cut after the first end-of-text token.",
    needs=(OUTPUT_IDS,),
)
def tokens_after_the_end(evidence: Evidence) -> Iterator[Outcome]:
    """An answer that stopped ends in its end-of-text token, and has none before it.

    ## Why it matters
    The end may be drafted, in the middle of an accepted block. If the block is not cut there, text
    follows the end, acceptance counts drafts that nobody sees, and the answer is longer than the
    model's own.

    ## How it is computed
    End tokens are those the run names, else the last tokens of the answers that stopped: at least
    three answers and at most three different ids. Then an answer that stopped must end in one,
    and no answer may have one before its last position, unless end-of-text was to be ignored. When
    the stopped answers end in more different tokens than a model has end tokens, the cut does not
    happen at all.

    ## Example
    Bad: output_ids 17 4 2 91 33 with end token 2.
    Good: output_ids 17 4 2.
    """
    if evidence.load is not None and evidence.load.ignore_eos:
        return
    stopped = [r for r in evidence.completed if r.finish_reason == "stop" and r.output_ids]
    lasts = Counter(_ids(r)[-1] for r in stopped)
    if not evidence.stop_ids and len(stopped) < FEWEST_TO_LEARN_FROM:
        yield Lacks(f"the model's end tokens, or {FEWEST_TO_LEARN_FROM} answers that stopped")
        return
    if not evidence.stop_ids and len(lasts) > max(END_TOKENS_OF_A_MODEL, len(stopped) // 2):
        yield (
            f"{len(stopped)} answers that stopped end in {len(lasts)} different tokens: they are "
            "not cut at the end-of-text token"
        )
        return
    ends = evidence.stop_ids or frozenset(
        token for token, times in lasts.most_common(END_TOKENS_OF_A_MODEL) if times > 1
    )
    offenders = []
    for r in evidence.completed:
        inside = _first_end(_ids(r)[:-1], ends)
        if inside is not None:
            offenders.append(
                f"{r.prompt_id} has end token {_ids(r)[inside]} at {inside} and goes on to "
                f"{len(_ids(r))} tokens"
            )
        elif r.finish_reason == "stop" and r.output_ids and r.output_ids[-1] not in ends:
            offenders.append(f"{r.prompt_id} stopped at {r.output_ids[-1]}, which is no end token")
    if offenders:
        yield some_of(offenders, len(evidence.completed), "answers")


def _ids(request: RequestCompleted) -> Sequence[int]:
    return request.output_ids or ()


def _first_end(ids: Sequence[int], ends: frozenset[int]) -> int | None:
    return next((i for i, token in enumerate(ids) if token in ends), None)
