from collections import Counter
from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import OUTPUT_IDS, STEPS, VERIFY_COUNTS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule
from ddbench.records import RequestCompleted

Made = tuple[tuple[int, ...], int]  # tokens after the first, verify steps


@rule(
    "DDB153",
    "trace-against-answers",
    Severity.ERROR,
    remedy="Check that a step is counted once, and that what it commits is what is sent.",
    needs=(STEPS, VERIFY_COUNTS, OUTPUT_IDS),
)
def trace_against_answers(evidence: Evidence) -> Iterator[Outcome]:
    """Every answer stands in the trace: the tokens that its steps committed, in as many steps.

    ## Why it matters
    The trace shows what happened, the answer what was counted and sent. A difference is a step that
    was counted twice or not at all, or tokens that never reached the client.

    ## How it is computed
    For each request of the trace: the tokens of its commits, joined, and its number of steps. Each
    answer with verify steps must be one of them, by output_ids without the first (prefill made it)
    and spec_verify_ct. Requests that are in the trace alone (a warm-up) do not matter. Exact.
    Answers that were retracted are left out, since they were prefilled twice.

    ## Example
    Bad: p3 was answered with 64 tokens in 21 steps, and no request of the trace has these.
    Good: all 48 answers are found.
    """
    commits: dict[str, list[int]] = {}
    steps: Counter[str] = Counter()
    for step in evidence.steps:
        commits.setdefault(step.rid, []).extend(step.commit)
        steps[step.rid] += 1
    traced: Counter[Made] = Counter((tuple(commits[rid]), steps[rid]) for rid in commits)
    token_only = {tokens for tokens, _ in traced}
    answers = [r for r in evidence.completed if r.verify_ct and r.output_ids and not r.retractions]
    missing = []
    for r in answers:
        made = _made(r)
        if traced[made] > 0:
            traced[made] -= 1
        elif made[0] in token_only:
            missing.append(f"{r.prompt_id} reports {made[1]} steps, the trace has another number")
        else:
            missing.append(f"{r.prompt_id} has {len(made[0]) + 1} tokens that no steps committed")
    if missing:
        yield some_of(missing, len(answers), "answers")


def _made(request: RequestCompleted) -> Made:
    return (request.output_ids or ())[1:], request.verify_ct or 0
