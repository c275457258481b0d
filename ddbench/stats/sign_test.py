"""Is one side of many pairs larger more often than chance would have it?"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb


@dataclass(frozen=True, slots=True)
class SignTest:
    larger: int
    smaller: int
    ties: int
    p_value: float  # one-sided: that `larger` or more of the untied pairs are larger by chance

    @property
    def pairs(self) -> int:
        return self.larger + self.smaller + self.ties


def sign_test(differences: Iterable[float]) -> SignTest:
    """One-sided exact sign test that differences tend to be positive; ties are left out.

    Assumes independent pairs and nothing of their distribution; weaker than a t-test where that
    applies. With 7 untied pairs the smallest p-value is 0.008, so fewer never reach 0.01.

    Source: Conover, Practical Nonparametric Statistics (1999), section 3.4.
    """
    values = list(differences)
    larger = sum(value > 0 for value in values)
    smaller = sum(value < 0 for value in values)
    trials = larger + smaller
    p_value = sum(comb(trials, k) for k in range(larger, trials + 1)) / 2**trials
    return SignTest(larger, smaller, len(values) - trials, p_value)
