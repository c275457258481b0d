from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Found, Outcome, Severity
from ddbench.checks.needs import STARTUP
from ddbench.checks.rule import rule
from ddbench.checks.startup_values import startup_lines


@rule(
    "DDB306",
    "sampling-fell-back-to-greedy",
    Severity.ERROR,
    remedy="Compare at temperature 0, or use a build whose verification can sample.",
    needs=(STARTUP,),
)
def sampling_fell_back_to_greedy(evidence: Evidence) -> Iterator[Outcome]:
    """The server was asked to sample and verified greedily.

    ## Why it matters
    The fallback is one warning in a log. Answers are then those of temperature 0, acceptance is
    higher than sampling would allow, and the comparison with a sampling baseline is of two tasks.

    ## How it is computed
    SGLang's warning "... falling back to greedy argmax verification" together with a load of
    temperature > 0. Without a known load it is a warning, since greedy requests are not harmed.

    ## Example
    Bad: temperature 0.7 and that line.
    Good: temperature 0 and that line.
    """
    said = startup_lines(evidence, "greedy_fallback")
    if not said:
        return
    if evidence.load is None:
        yield Found(
            "the server verifies greedily, whatever temperature is asked for",
            severity=Severity.WARNING,
        )
    elif evidence.load.temperature > 0:
        yield f"temperature {evidence.load.temperature} was asked for, and: {said[0][:160]}"
