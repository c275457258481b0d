from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from ddbench.checks.answer_pairs import differing_share
from ddbench.checks.cells import Cell, cells_of
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

FEWEST = 8


@rule(
    "DDB418",
    "sampling-looks-greedy",
    Severity.ERROR,
    remedy="Look for a greedy fallback in the log (DDB306), and for a default top_k of 1.",
    needs=(SEVERAL_RUNS,),
)
def sampling_looks_greedy(comparison: Comparison) -> Iterator[Outcome]:
    """Sampled answers are those of temperature 0: nothing was sampled.

    ## Why it matters
    A verification that cannot sample falls back to argmax with one line in a log, and a benchmark
    whose top_k defaults to 1 samples nothing. Acceptance is then that of greedy decoding, which is
    higher than production will see.

    ## How it is computed
    One arm at temperature 0 and at temperature > 0 (two runs, since a sweep has one temperature),
    all else equal: fires when the answers to all of at least eight prompts are equal, token by
    token.

    ## Example
    Bad: 48 of 48 answers at temperature 0.8 equal those at 0.
    Good: 3 of 48.
    """
    compared = False
    for a, b in combinations(cells_of(comparison), 2):
        if not _differ_in_temperature(a, b):
            continue
        different, total = differing_share(a, b)
        if total < FEWEST:
            continue
        compared = True
        if different == 0:
            warm = max(a.conditions.temperature or 0.0, b.conditions.temperature or 0.0)
            yield Found(
                f"all {total} answers at temperature {warm} are those of temperature 0",
                subject=a.name,
            )
    if not compared:
        yield Lacks(f"one arm at temperature 0 and above, with token ids of {FEWEST} prompts")


def _differ_in_temperature(a: Cell, b: Cell) -> bool:
    temperatures = (a.conditions.temperature, b.conditions.temperature)
    if a.arm != b.arm or 0.0 not in temperatures or a.conditions == b.conditions:
        return False
    return replace(a.conditions, temperature=b.conditions.temperature) == b.conditions
