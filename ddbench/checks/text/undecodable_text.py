from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import TEXT
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule

OF_ONE_CHARACTER = 3  # bytes of one that was cut off at the end
REPLACEMENT = "\ufffd"
SHARE = 0.05
FEWEST = 4
OF_ANSWERS = 0.1


@rule(
    "DDB504",
    "undecodable-text",
    Severity.WARNING,
    remedy="Compare with the same prompts on an autoregressive arm, and without the prefix cache.",
    needs=(TEXT,),
)
def undecodable_text(evidence: Evidence) -> Iterator[Outcome]:
    """Answers hold many bytes that are no text.

    ## Why it matters
    Tokens that do not combine into characters are what a corrupted cache or untrained weights give.
    Their acceptance says nothing about a working model.

    ## How it is computed
    Replacement characters (U+FFFD): at least four and 5 % of an answer, in 10 % of the answers. Up
    to three at the very end are an answer that was cut inside a character.

    ## Example
    Bad: 31 replacement characters in 420.
    Good: one at the end.
    """
    written = [r for r in evidence.completed if r.text]
    odd = []
    for r in written:
        text = r.text or ""
        at_end = len(text) - len(text.rstrip(REPLACEMENT))
        bad = text.count(REPLACEMENT) - min(at_end, OF_ONE_CHARACTER)
        if bad >= FEWEST and bad >= SHARE * len(text):
            odd.append(f"{r.prompt_id} has {bad} of {len(text)} characters undecodable")
    if odd and len(odd) >= OF_ANSWERS * len(written):
        yield some_of(odd, len(written), "answers")
