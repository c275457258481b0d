from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.offenders import some_of
from ddbench.checks.repetition import repeated_share, units
from ddbench.checks.rule import Need, rule

LOOP = 0.5
SHARE = 0.1
FEWEST = 2

ANSWERS: Need[Evidence] = Need(
    "answers with token ids or text", lambda e: any(r.output_ids or r.text for r in e.completed)
)


@rule(
    "DDB501",
    "repetition-loop",
    Severity.WARNING,
    remedy="Read those answers; set a repetition penalty or other prompts; DDB405 compares arms.",
    needs=(ANSWERS,),
)
def repetition_loop(evidence: Evidence) -> Iterator[Outcome]:
    """Answers run in a circle until they are cut for length.

    ## Why it matters
    Repeated text is drafted almost perfectly, so a model in a loop shows two or three times the
    acceptance and speed of a healthy one. The request is answered with HTTP 200 all the same.

    ## How it is computed
    For answers of at least 24 tokens (words, without token ids) that ended for length: the share of
    four-grams that came before, 1 - distinct/all. Over 0.5 is a loop. Fires for two answers and
    10 % of them.

    ## Example
    Bad: "if it is in the set if it is in the set if it is ..." to the limit, in 9 of 48 answers.
    Good: one table in 48 answers.
    """
    judged = [
        (r, share) for r in evidence.completed if (share := repeated_share(units(r))) is not None
    ]
    if not judged:
        yield Lacks("answers of 24 tokens or more")
        return
    loops = [
        f"{r.prompt_id} repeats {share:.0%} of its four-grams"
        for r, share in judged
        if share > LOOP and r.finish_reason == "length"
    ]
    if len(loops) >= FEWEST and len(loops) >= SHARE * len(judged):
        yield some_of(loops, len(judged), "answers")
