from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.offenders import some_of
from ddbench.checks.repetition import longest_run, units
from ddbench.checks.rule import Need, rule

LONGEST = 16
SHARE = 0.5
CHARACTERS_A_TOKEN = 4

ANSWERS: Need[Evidence] = Need(
    "answers with token ids or text", lambda e: any(r.output_ids or r.text for r in e.completed)
)


@rule(
    "DDB503",
    "one-token-over-and-over",
    Severity.ERROR,
    remedy="Restart the server; if it comes back, look for NaNs and mixed-up rows of the cache.",
    needs=(ANSWERS,),
)
def one_token_over_and_over(evidence: Evidence) -> Iterator[Outcome]:
    """An answer is one token, over and over: the server's state is corrupted.

    ## Why it matters
    "!!!!!!!!" is token 0, what a target full of NaNs predicts. A drafter copies it perfectly, so
    acceptance is at its ceiling and throughput triples while the output is worthless.

    ## How it is computed
    The longest run of one token id is at least 16 and half of the answer; without ids, the longest
    run of one visible character is at least 64 and half of the text.

    ## Example
    Bad: 64 tokens, all of them id 0.
    Good: a row of 20 dashes in an answer of 200 tokens.
    """
    offenders = []
    for r in evidence.completed:
        if r.output_ids:
            run, whole, what = longest_run(units(r)), len(r.output_ids), "tokens"
            limit = LONGEST
        else:
            visible = [c for c in r.text or "" if not c.isspace()]
            run, whole, what = longest_run(visible), len(visible), "characters"
            limit = LONGEST * CHARACTERS_A_TOKEN
        if run >= limit and run >= SHARE * whole:
            offenders.append(f"{r.prompt_id} has the same one {run} times in {whole} {what}")
    if offenders:
        yield some_of(offenders, len(evidence.completed), "answers")
