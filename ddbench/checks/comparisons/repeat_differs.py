from collections.abc import Iterator, Sequence

from ddbench.checks.cells import Cell, cells_of
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.offenders import some_of
from ddbench.checks.rule import rule
from ddbench.records import RequestCompleted


@rule(
    "DDB406",
    "repeat-differs",
    Severity.ERROR,
    remedy="Look for races between overlapped steps, and for state that survives a request.",
    needs=(SEVERAL_RUNS,),
)
def repeat_differs(comparison: Comparison) -> Iterator[Outcome]:
    """One arm, one prompt at a time, greedy: a repeat gives the same tokens in the same steps.

    ## Why it matters
    At concurrency 1 the arithmetic of a repeat is the same, so a difference is a race, a stale
    buffer, or state left by the request before. Acceptance then depends on luck.

    ## How it is computed
    Repeats and visits of a cell at concurrency 1 and temperature 0: output_ids and verify_ct by
    prompt. Exact, unless the autoregressive arm differs between its own repeats too: then drafting
    is not the cause, and only a larger share than its own is reported.

    ## Example
    Bad: prompt p3 takes 21 steps, then 22.
    Good: equal in every repeat.
    """
    judged = []
    for cell in cells_of(comparison):
        alone = cell.conditions.concurrency == 1 and cell.conditions.temperature == 0
        repeated = _repeated(cell) if alone else []
        if repeated:
            judged.append((cell, _odd(repeated), len(repeated)))
    if not judged:
        yield Lacks("two runs of one arm at concurrency 1 and temperature 0")
        return
    own = max((len(odd) / total for c, odd, total in judged if c.is_autoregressive), default=0.0)
    for cell, odd, total in judged:
        if odd and (cell.is_autoregressive or len(odd) / total > own):
            yield Found(some_of(odd, total, "prompts"), subject=cell.name)


def _repeated(cell: Cell) -> list[list[RequestCompleted]]:
    return [answers for answers in cell.by_prompt().values() if len(answers) > 1]


def _odd(repeated: Sequence[list[RequestCompleted]]) -> list[str]:
    odd = []
    for answers in repeated:
        steps = {r.verify_ct or 0 for r in answers}
        if len({r.output_ids for r in answers}) > 1:
            odd.append(f"{answers[0].prompt_id} has different tokens")
        elif len(steps) > 1:
            odd.append(f"{answers[0].prompt_id} took {' and '.join(map(str, steps))} steps")
    return odd
