"""The answers of two servers to the same prompts, request by request.

Equal tokens prove little on a small model: a verification whose attention mask is dropped often
leaves every choice where it was. Log-probabilities do tell, so they are compared too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from ddbench.errors import NotComparable
from ddbench.records import RequestCompleted

T = TypeVar("T")

LOGPROB_TOLERANCE = 1e-4
"""float32 on both sides gave 1e-6 where both were right, and 1e-3 and more where one was wrong."""


@dataclass(frozen=True, slots=True)
class RequestDifference:
    """One prompt. first_token: where the outputs part, None when they are the same.

    max_logprob: the largest difference up to there, the parting token included. verify_ct and
    histogram hold (expected, actual) where they differ, and None where they agree.
    """

    prompt_id: str
    first_token: int | None
    max_logprob: float
    verify_ct: tuple[int | None, int | None] | None
    histogram: tuple[tuple[int, ...] | None, tuple[int, ...] | None] | None


@dataclass(frozen=True, slots=True)
class Differential:
    requests: tuple[RequestDifference, ...]

    @property
    def max_logprob(self) -> float:
        return max(request.max_logprob for request in self.requests)

    @property
    def parted(self) -> int:
        """Requests whose tokens are not the same."""
        return sum(request.first_token is not None for request in self.requests)

    @property
    def other_steps(self) -> int:
        """Requests whose count of verify steps or histogram differs."""
        return sum(
            request.verify_ct is not None or request.histogram is not None
            for request in self.requests
        )

    def conforms(self, tolerance: float = LOGPROB_TOLERANCE) -> bool:
        """Same tokens, same steps, and log-probabilities within the tolerance."""
        return not self.parted and not self.other_steps and self.max_logprob <= tolerance

    def __str__(self) -> str:
        return (
            f"{len(self.requests)} requests: {self.parted} with other tokens, {self.other_steps} "
            f"with other verify steps, log-probabilities apart by at most {self.max_logprob:.1e}"
        )


def differential(
    expected: Sequence[RequestCompleted], actual: Sequence[RequestCompleted]
) -> Differential:
    """Compare two runs over the same prompts in the same order.

    Raises NotComparable when the prompts or their tokens differ, or log-probabilities are missing.
    """
    if [(r.prompt_id, r.prompt_tokens) for r in expected] != [
        (r.prompt_id, r.prompt_tokens) for r in actual
    ]:
        raise NotComparable(
            "the two servers did not answer the same prompts",
            remedy="Send both the same list, and give both the same tokenizer.",
        )
    if not expected:
        raise NotComparable("no request was answered", remedy="Look at the servers' logs.")
    return Differential(tuple(map(_request_difference, expected, actual)))


def _request_difference(expected: RequestCompleted, actual: RequestCompleted) -> RequestDifference:
    ids = output_ids(expected), output_ids(actual)
    first_token = next((i for i, (a, b) in enumerate(zip(*ids, strict=False)) if a != b), None)
    if first_token is None and len(ids[0]) != len(ids[1]):
        first_token = min(map(len, ids))
    compared = None if first_token is None else first_token + 1
    pairs = zip(
        output_logprobs(expected)[:compared], output_logprobs(actual)[:compared], strict=False
    )
    return RequestDifference(
        prompt_id=expected.prompt_id,
        first_token=first_token,
        max_logprob=max((abs(a - b) for a, b in pairs), default=0.0),
        verify_ct=_unlike(expected.verify_ct, actual.verify_ct),
        histogram=_unlike(expected.histogram, actual.histogram),
    )


def _unlike(expected: T, actual: T) -> tuple[T, T] | None:
    return None if expected == actual else (expected, actual)


def output_ids(request: RequestCompleted) -> tuple[int, ...]:
    """Raises NotComparable without them."""
    if request.output_ids is None:
        raise NotComparable(
            f"the answer to {request.prompt_id} has no token ids",
            remedy="Compare servers that report `output_ids`.",
        )
    return request.output_ids


def output_logprobs(request: RequestCompleted) -> tuple[float, ...]:
    """Raises NotComparable without them."""
    if request.output_logprobs is None:
        raise NotComparable(
            f"the answer to {request.prompt_id} has no log-probabilities",
            remedy="Send the load with `logprobs: true`.",
        )
    return request.output_logprobs
