"""A number and how sure we are of it."""

from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """`value` with its confidence interval; low and high are None where n does not allow one.

    n counts the independent units (prompts, repeats), not the numbers that went in.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    confidence: float
    method: str  # in words, as a report prints it
    freedom: float | None = None  # degrees of freedom of Student's quantile in it

    def __contains__(self, number: float) -> bool:
        """Whether the interval holds `number`; one that is not known holds everything."""
        return self.low is None or self.high is None or self.low <= number <= self.high

    def decimals_beside_1(self, least: int) -> int:
        """Of a ratio: so many that show on which side of 1 the interval ends; `least` to 4.

        `1.06x [1.0002, 1.13]` is above 1, which `[1.00, 1.13]` does not say. Where both bounds
        round to 1 nothing hangs on it.
        """
        if self.low is None or self.high is None:
            return least
        for places in range(least, 4):
            at_1 = [bound != 1.0 and round(bound, places) == 1.0 for bound in (self.low, self.high)]
            if sum(at_1) != 1:
                return places
        return max(least, 4)
