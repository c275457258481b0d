from collections.abc import Iterator
from itertools import combinations

from ddbench.checks.acceptance_pairs import P_VALUE, acceptance_change
from ddbench.checks.cells import cells_of, differ_only_in
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

NOTABLE, NOTABLE_WHEN_FEW = 0.03, 0.06
FEW = 100


@rule(
    "DDB411",
    "acceptance-changes-with-concurrency",
    Severity.WARNING,
    remedy="Run concurrency 1 and 2 with a step trace, and compare the rows of one prompt.",
    needs=(SEVERAL_RUNS,),
)
def acceptance_changes_with_concurrency(comparison: Comparison) -> Iterator[Outcome]:
    """Acceptance of a prompt does not depend on how many others run beside it.

    ## Why it matters
    It is a property of prompt, target and drafter. When it moves with the batch, rows are mixed up,
    padding is counted, or each concurrency was given other prompts.

    ## How it is computed
    One arm at two concurrencies, all else equal: tokens per step by prompt. Over 3 % apart (6 %
    with fewer than 100 prompts) and a signed-rank test with p < 0.01 in that direction.

    ## Example
    Bad: 4.03 tokens a step at concurrency 1 and 1.52 at 16.
    Good: 3.43 and 3.40.
    """
    compared = False
    for a, b in combinations(cells_of(comparison), 2):
        if not differ_only_in("concurrency", a, b):
            continue
        change = acceptance_change(a, b)
        if change is None:
            continue
        compared = True
        limit = NOTABLE_WHEN_FEW if change.prompts < FEW else NOTABLE
        p_value = min(change.p_of_fall if change.share < 0 else change.p_of_rise, 1.0)
        if abs(change.share) > limit and p_value < P_VALUE:
            yield Found(
                f"{change.before:.2f} tokens a step at concurrency {a.conditions.concurrency} and "
                f"{change.after:.2f} at {b.conditions.concurrency} for the same {change.prompts} "
                f"prompts (p = {p_value:.1g})",
                subject=a.arm,
            )
    if not compared:
        yield Lacks("one arm at two concurrencies with the same prompts and verify counts")
