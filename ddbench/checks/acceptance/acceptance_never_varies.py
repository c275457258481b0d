from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT, depth_limit
from ddbench.checks.needs import SPECULATIVE_ARM
from ddbench.checks.rule import rule
from ddbench.checks.window_steps import windows_of_many_steps

FEWEST_WINDOWS = 10
STEPS_TO_AVERAGE = 8
FEWEST_STEPS = 100


@rule(
    "DDB110",
    "acceptance-never-varies",
    Severity.ERROR,
    remedy="Unset SGLANG_SIMULATE_ACC_LEN (or find what fakes acceptance) and mark these results.",
    needs=(SPECULATIVE_ARM,),
)
def acceptance_never_varies(evidence: Evidence) -> Iterator[Outcome]:
    """Acceptance is the same in every window: it is simulated, not measured.

    ## Why it matters
    SGLANG_SIMULATE_ACC_LEN makes a server accept a fixed number of drafts, whatever the target
    says. Throughput is then synthetic and the text is not the model's.

    ## How it is computed
    Log: at least ten windows of at least eight request-steps each, all with the same accept len to
    two decimals, above 1 and below D + 1. Answers: at least 100 verify steps whose histogram uses
    one or two neighbouring bins above 0 and below D; a fractional simulated length alternates
    between two. Real acceptance reaches 0 and D.

    ## Example
    Bad: accept len: 4.00 in 25 windows of 40 steps.
    Good: accept len: 3.95, 4.10, 4.00, 3.72.
    """
    depth = depth_limit(evidence)
    averaged = windows_of_many_steps(evidence, STEPS_TO_AVERAGE)
    values = [w.accept_len_logged or 0.0 for w in averaged]
    pooled: dict[int, int] = {}
    for r in evidence.completed:
        for drafts, steps in enumerate(r.histogram or ()):
            if steps:
                pooled[drafts] = pooled.get(drafts, 0) + steps
    if len(values) < FEWEST_WINDOWS and sum(pooled.values()) < FEWEST_STEPS:
        yield Lacks(f"{FEWEST_WINDOWS} windows of several steps, or {FEWEST_STEPS} verify steps")
        return
    ceiling = None if depth is None else depth + 1 - PRINTED_HALF_UNIT
    if (
        len(values) >= FEWEST_WINDOWS
        and len(set(values)) == 1
        and values[0] > 1.0 + PRINTED_HALF_UNIT
        and (ceiling is None or values[0] < ceiling)
        and not pooled_varies(pooled)
    ):
        yield f"accept len is {values[0]:.2f} in all {len(values)} windows"
    elif (
        sum(pooled.values()) >= FEWEST_STEPS
        and max(pooled) - min(pooled) <= 1
        and min(pooled) > 0
        and (depth is None or max(pooled) < depth)
    ):
        bins = " or ".join(str(drafts) for drafts in sorted(pooled))
        yield f"each of {sum(pooled.values())} verify steps accepted {bins} drafts"


def pooled_varies(pooled: dict[int, int]) -> bool:
    """True when the answers' own histogram shows real spread, whatever the log prints."""
    return bool(pooled) and max(pooled) - min(pooled) > 1
