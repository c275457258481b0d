from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import STEPS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule
from ddbench.checks.step_trace import consecutive


@rule(
    "DDB144",
    "trace-bonus-token-wrong",
    Severity.ERROR,
    remedy="Check the index at which the bonus is read: after the last accepted node, not padding.",
    needs=(STEPS,),
)
def trace_bonus_token_wrong(evidence: Evidence) -> Iterator[Outcome]:
    """The bonus is the target's choice after the last accepted node, and the next step's root.

    ## Why it matters
    The bonus token is where indices are off by one: it has no cache slot yet, and is the root of
    the next step. One that is read from the padded tail of a row puts a wrong token in the text.

    ## How it is computed
    bonus = target(last accepted node); and for two steps of a request on end, the second's root
    token = the first's bonus. Exact; a step that ended the answer has no successor.

    ## Example
    Bad: bonus 12 and the next step's root is 0.
    Good: bonus 12 and the next step's root is 12.
    """
    wrong = []
    for step in evidence.steps:
        choice = step.target[step.accepted[-1]]
        if choice is not None and step.bonus != choice:
            wrong.append(f"{step.where} has bonus {step.bonus} where the target chose {choice}")
    for before, after in consecutive(evidence.steps):
        if after.tokens[0] != before.bonus:
            wrong.append(
                f"{after.where} starts from token {after.tokens[0]}, the step before ended in "
                f"bonus {before.bonus}"
            )
    if wrong:
        yield some_of(wrong, len(evidence.steps), "steps")
