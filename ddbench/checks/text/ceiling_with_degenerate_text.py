from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import depth_limit, verified_tokens
from ddbench.checks.needs import DEPTH_LIMIT, HISTOGRAMS
from ddbench.checks.repetition import repeated_share, units
from ddbench.checks.rule import rule
from ddbench.records import RequestCompleted

LOOP = 0.5
FULL = 0.5  # of an answer's steps accepted everything
FEWEST = 2
INFLATION = 0.05


@rule(
    "DDB502",
    "ceiling-with-degenerate-text",
    Severity.ERROR,
    remedy="Discard the speed of this run; leave those prompts out, or fix what makes them loop.",
    needs=(HISTOGRAMS, DEPTH_LIMIT),
)
def ceiling_with_degenerate_text(evidence: Evidence) -> Iterator[Outcome]:
    """Acceptance is high because the text is broken.

    ## Why it matters
    Loops win benchmarks: 7.76 tokens a step at 59 tok/s for garbage, 2.68 at 25.8 for the healthy
    server. High acceptance and a full-length answer look like success until somebody reads it.

    ## How it is computed
    Answers of at least 24 tokens whose four-grams repeat to more than half, and in which at least
    half of the verify steps accepted all D drafts. Fires when there are two of them and tokens per
    step of the run are over 5 % higher with them than without.

    ## Example
    Bad: 12 of 48 answers loop at the ceiling: 4.9 tokens a step, 3.1 without them.
    Good: a looping answer in which nothing more is accepted than elsewhere.
    """
    depth = depth_limit(evidence)
    counted = [r for r in evidence.completed if r.histogram and r.verify_ct]
    judged = {r.prompt_id: repeated_share(units(r)) for r in counted}
    if depth is None or all(share is None for share in judged.values()):
        yield Lacks("token ids or text of answers of 24 tokens or more")
        return
    broken = [
        r for r in counted if (judged[r.prompt_id] or 0.0) > LOOP and _full_share(r, depth) >= FULL
    ]
    healthy = [r for r in counted if r not in broken]
    if len(broken) < FEWEST:
        return
    with_them = _mean(counted)
    without = _mean(healthy) if healthy else 1.0
    if with_them > (1.0 + INFLATION) * without:
        rest = f"{without:.2f} without them" if healthy else "no answer is free of it"
        yield (
            f"{len(broken)} of {len(counted)} answers repeat themselves at the ceiling of "
            f"{depth} drafts ({broken[0].prompt_id} is one): {with_them:.2f} tokens a step, {rest}"
        )


def _full_share(request: RequestCompleted, depth: int) -> float:
    histogram = request.histogram or ()
    full = sum(histogram[depth:])
    return full / sum(histogram) if sum(histogram) else 0.0


def _mean(requests: list[RequestCompleted]) -> float:
    return sum(verified_tokens(r) for r in requests) / sum(r.verify_ct or 0 for r in requests)
