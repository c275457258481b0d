from collections.abc import Iterator, Sequence
from math import sqrt

from ddbench.checks.answer_pairs import Divergence, differing_share, divergence, first_answers
from ddbench.checks.cells import Cell, cells_of, matched
from ddbench.checks.evidence import Comparison
from ddbench.checks.finding import Found, Lacks, Outcome, Severity
from ddbench.checks.needs import SEVERAL_RUNS
from ddbench.checks.rule import rule

UNKNOWN_RATE = 0.05  # of answers that flip at near ties, when nothing measured it
DEVIATIONS = 2.0


@rule(
    "DDB405",
    "output-differs-between-arms",
    Severity.ERROR,
    remedy="Look at that token: KV cache, mask, positions, then the bonus index.",
    needs=(SEVERAL_RUNS,),
)
def output_differs_between_arms(comparison: Comparison) -> Iterator[Outcome]:
    """Greedy speculation must give the text of plain greedy decoding.

    ## Why it matters
    Counters can all be right while the cache, the mask or the positions are wrong: the text then
    drifts from the model's own, and acceptance is measured on another text. Only near ties may
    flip, since batched arithmetic rounds differently.

    ## How it is computed
    For drafting arms against the autoregressive arm (or a tree against the line, without one), same
    conditions, temperature 0, by prompt: the first token that differs. With log-probabilities it is
    a near tie when the two choices are within 0.1 nats and their probabilities sum to at most 1 (up
    to there both saw the same text); anything else is an error. Without them, the share of
    prompts that differ must not exceed the share in which the reference differs between its own
    repeats by more than 2 binomial standard deviations; where that was not measured, 5 % is
    allowed and the finding is a warning.

    ## Example
    Bad: 31 of 48 answers of tree-8-31-4 differ from autoregressive; p0 from token 4 on.
    Good: 1 of 48 differs, at a near tie.
    """
    cells = [c for c in cells_of(comparison) if c.conditions.temperature == 0]
    found = False
    for a, b in matched(cells):
        ordered = _reference_first(a, b, cells)
        if ordered is None:
            continue
        reference, arm = ordered
        different, total = differing_share(reference, arm)
        if not total:
            continue
        found = True
        parted = [
            d for mine, theirs in first_answers(reference, arm) if (d := divergence(mine, theirs))
        ]
        subject = f"{arm.name} and {reference.arm}"
        if verdict := _verdict(parted, different, total, _own_flips(reference)):
            message, severity = verdict
            yield Found(message, subject=subject, severity=severity)
    if not found:
        yield Lacks("a reference arm (autoregressive) and a drafting one, greedy, with token ids")


def _reference_first(a: Cell, b: Cell, cells: Sequence[Cell]) -> tuple[Cell, Cell] | None:
    """(reference, arm): plain decoding where there is any, else the line for a tree."""
    for reference, arm in ((a, b), (b, a)):
        if reference.is_autoregressive and not arm.is_autoregressive:
            return reference, arm
    if any(cell.is_autoregressive and cell.conditions == a.conditions for cell in cells):
        return None
    for reference, arm in ((a, b), (b, a)):
        if reference.is_linear and arm.is_tree:
            return reference, arm
    return None


def _own_flips(cell: Cell) -> float | None:
    """The share of prompts in which the reference's own repeats differ; None without repeats."""
    repeated = [answers for answers in cell.by_prompt().values() if len(answers) > 1]
    if not repeated:
        return None
    return sum(len({r.output_ids for r in answers}) > 1 for answers in repeated) / len(repeated)


def _verdict(
    parted: Sequence[Divergence], different: int, total: int, own: float | None
) -> tuple[str, Severity] | None:
    untied = [d for d in parted if d.tie is False]
    if untied:
        first = min(untied, key=lambda d: d.position)
        return (
            f"{len(untied)} of {total} answers differ, and not at a near tie; {first.prompt_id} "
            f"from token {first.position} on",
            Severity.ERROR,
        )
    unknown = [d for d in parted if d.tie is None]
    rate = UNKNOWN_RATE if own is None else own
    allowed = total * rate + DEVIATIONS * sqrt(total * rate * (1.0 - rate))
    if not unknown or different <= allowed:
        return None
    first = min(unknown, key=lambda d: d.position)
    expected = "not measured" if own is None else f"{own:.0%}"
    return (
        f"{different} of {total} answers differ ({first.prompt_id} from token {first.position} "
        f"on); how often the reference differs from itself: {expected}",
        Severity.WARNING if own is None else Severity.ERROR,
    )
