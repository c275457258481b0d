"""How repetitive an answer is, from its token ids or, without them, its words."""

from collections.abc import Sequence

from ddbench.records import RequestCompleted

GRAM = 4
FEWEST_UNITS = 24  # below this four-grams repeat by chance, or not at all


def units(request: RequestCompleted) -> Sequence[int | str]:
    """Token ids; else the words of the text."""
    if request.output_ids:
        return request.output_ids
    return (request.text or "").split()


def repeated_share(sequence: Sequence[int | str]) -> float | None:
    """1 - distinct / all four-grams: 0 when none comes twice, near 1 in a loop. None when short."""
    if len(sequence) < FEWEST_UNITS:
        return None
    grams = [tuple(sequence[i : i + GRAM]) for i in range(len(sequence) - GRAM + 1)]
    return 1.0 - len(set(grams)) / len(grams)


def longest_run(sequence: Sequence[int | str]) -> int:
    """The most equal units on end."""
    best = length = 0
    previous: int | str | None = None
    for unit in sequence:
        length = length + 1 if unit == previous else 1
        previous = unit
        best = max(best, length)
    return best
