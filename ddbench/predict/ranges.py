"""Whole numbers as a user writes them: `1:128`, `7,15,31`, or both."""

from ddbench.errors import PlanError

LARGEST = 4096


def numbers(text: str, *, option: str) -> tuple[int, ...]:
    """The numbers `text` names, ascending, each once. A range holds both of its ends.

    Raises PlanError, naming `option`, for anything else, or a number outside of 1 to LARGEST.
    """
    found: set[int] = set()
    for part in text.split(","):
        first, colon, last = part.strip().partition(":")
        try:
            low = int(first)
            high = int(last) if colon else low
        except ValueError:
            raise _refused(text, option) from None
        if not 1 <= low <= high <= LARGEST:
            raise _refused(text, option)
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def _refused(text: str, option: str) -> PlanError:
    return PlanError(
        f"{option} {text!r} names no numbers from 1 to {LARGEST}",
        remedy=f"Write a range or a list: `{option} 1:64` or `{option} 7,15,31`.",
    )
