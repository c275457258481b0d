"""What other tools write of one run, computed from a trial's answers by their own definitions."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ddbench.records import RequestCompleted, RequestFailed, RunResult
from ddbench.runs.store import RunStore

ABOVE = 10  # requests that must lie above a percentile: 100 of them for p90, 1,000 for p99
PERCENTILES = (90, 95, 99)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums of the completed requests, and their rates over duration_s."""

    duration_s: float
    completed: int
    failed: int
    input_tokens: int
    output_tokens: int

    def per_s(self, count: int) -> float:
        return count / self.duration_s


def timed_trials(store: RunStore) -> Iterator[RunResult]:
    """Trials with a result that may be timed: done, with answers, and not for recording drafts."""
    for result in store.results():
        usable = result.failure is None and not result.trial.load.record_drafts
        if usable and result.completed and result.wall_s:
            yield result


def totals(result: RunResult) -> Totals:
    assert result.wall_s is not None
    return Totals(
        duration_s=result.wall_s,
        completed=len(result.completed),
        failed=len(result.requests) - len(result.completed),
        input_tokens=sum(request.prompt_tokens for request in result.completed),
        output_tokens=sum(request.completion_tokens for request in result.completed),
    )


def lengths_asked(trials: Iterable[RunResult]) -> dict[tuple[str, str], int]:
    """(arm, prompt id) -> tokens of the prompt, as an answer in any of the trials says."""
    return {(t.trial.arm, r.prompt_id): r.prompt_tokens for t in trials for r in t.completed}


def details(
    result: RunResult,
    asked: Mapping[tuple[str, str], int],
    gaps_s: Callable[[RequestCompleted], list[float] | None],
) -> dict[str, object]:
    """One entry a request, under the keys of both tools; a failed one has no token at second 0.

    A list is None where one of its entries is not known.
    """
    requests = result.requests
    answers = [r if isinstance(r, RequestCompleted) else None for r in requests]
    lengths = [asked.get((result.trial.arm, request.prompt_id)) for request in requests]
    texts = ["" if answer is None else answer.text for answer in answers]
    return {
        "input_lens": None if None in lengths else lengths,
        "output_lens": [0 if answer is None else answer.completion_tokens for answer in answers],
        "ttfts": [0.0 if answer is None else answer.ttft_s for answer in answers],
        "itls": all_known([[] if answer is None else gaps_s(answer) for answer in answers]),
        "generated_texts": None if None in texts else texts,
        "errors": [r.reason if isinstance(r, RequestFailed) else "" for r in requests],
    }


def tpots_s(result: RunResult) -> list[float]:
    """(E2E - TTFT) / (tokens - 1) of each answer of two tokens or more."""
    return [
        (r.e2e_s - r.ttft_s) / (r.completion_tokens - 1)
        for r in result.completed
        if r.completion_tokens > 1
    ]


def chunk_gaps_s(request: RequestCompleted) -> list[float] | None:
    """Times between chunks; None where they were not kept."""
    if not request.chunk_offsets_s:
        return None
    return [float(gap) for gap in np.diff(request.chunk_offsets_s)]


def token_gaps_s(request: RequestCompleted) -> list[float] | None:
    """Times between tokens: known only where every chunk was one token."""
    if len(request.chunk_offsets_s) != request.completion_tokens:
        return None
    return chunk_gaps_s(request)


def all_known(values: Sequence[list[float] | None]) -> list[list[float]] | None:
    """The values when none is missing: a mean of those that happen to be known would mislead."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def statistics_ms(values_s: Sequence[float], requests: int) -> dict[str, float]:
    """mean, median, std and the percentiles that so many requests allow; milliseconds.

    Empty without values. std divides by n, percentiles interpolate, as both tools have numpy do.
    """
    if not values_s:
        return {}
    values = np.asarray(values_s) * 1000.0
    found = {"mean": values.mean(), "median": np.median(values), "std": values.std()}
    for percentile in PERCENTILES:
        if requests * (100 - percentile) >= ABOVE * 100:
            found[f"p{percentile}"] = np.percentile(values, percentile)
    return {name: float(value) for name, value in found.items()}


def token_rate_peak(result: RunResult, gaps_s: Sequence[Sequence[float]]) -> int:
    """The most tokens in one whole second since the first send. gaps_s: of each answer."""
    first_s = min(r.sent_s for r in result.completed)
    seconds = [
        int(at_s - first_s)
        for r, gaps in zip(result.completed, gaps_s, strict=True)
        for at_s in accumulate(gaps, initial=r.sent_s + r.ttft_s)
    ]
    return int(np.bincount(seconds).max())


def most_in_flight(result: RunResult) -> int:
    """The most answers under way at one moment; one that ends makes room for one that starts."""
    moves = [(r.sent_s, 1) for r in result.completed]
    moves += [(r.sent_s + r.e2e_s, -1) for r in result.completed]
    running = most = 0
    for _, move in sorted(moves):
        running += move
        most = max(most, running)
    return most


def most_in_a_second(result: RunResult) -> int:
    """The most answers that touch one whole second since the first send."""
    first_s = min(r.sent_s for r in result.completed)
    touched = [
        second
        for r in result.completed
        for second in range(int(r.sent_s - first_s), int(r.sent_s + r.e2e_s - first_s) + 1)
    ]
    return int(np.bincount(touched).max())
