"""One message for many broken items: how many, and the first of them."""

from collections.abc import Sequence


def some_of(offenders: Sequence[str], total: int, what: str) -> str:
    """ "3 of 48 requests: p07 has ..." """
    return f"{len(offenders)} of {total} {what}, the first: {offenders[0]}"
