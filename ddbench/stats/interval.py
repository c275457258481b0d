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
