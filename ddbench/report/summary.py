"""From results to one row an arm and load: plain data, seconds, no text."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ddbench.compare.measures import achieved_concurrency, blocks_of, tokens_per_s, tpot_s
from ddbench.records import RequestCompleted, RunResult, Speculation
from ddbench.report.in_flight import occupancy
from ddbench.stats.interval import Interval
from ddbench.stats.mean import clustered_mean, mean_interval
from ddbench.stats.median import median_interval
from ddbench.stats.ratio import pooled_ratio
from ddbench.stats.visits import rate_over_visits


@dataclass(frozen=True, slots=True)
class Row:
    """One arm at one concurrency, or one rate, over its done trials. None is "not measured".

    concurrency is 0 in an open loop, whose requests arrive at rate_per_s.

    n of tokens_per_step, user_tokens_per_s, tpot_s and ttft_median_s counts prompts; of the others,
    trials, and for tokens_per_s, a geometric mean, visits where there are several.
    user_tokens_per_s: of one stream, sum(n - 1) / sum(E2E - TTFT).
    """

    arm: str
    speculation: Speculation
    concurrency: int
    rate_per_s: float | None
    trials: int
    failed_trials: int
    completed: int
    failed_requests: int
    achieved_concurrency: Interval | None
    occupancy: Interval | None
    tokens_per_step: Interval | None  # None for autoregressive: it verifies nothing
    tokens_per_s: Interval | None
    user_tokens_per_s: Interval | None
    tpot_s: Interval | None
    ttft_median_s: Interval | None


def summarise(results: Iterable[RunResult]) -> list[Row]:
    """One row a load and arm: concurrencies ascending, or rates; arms in the order they ran.

    A trial that failed is counted and otherwise left out, and so is a failed one that a later
    result replaced. Trials that recorded drafts are never timed.
    """
    groups: dict[tuple[str, int, float | None], list[RunResult]] = defaultdict(list)
    for result in results:
        load = result.trial.load
        groups[result.trial.arm, load.concurrency, load.rate_per_s].append(result)
    rows = [_row(group) for group in groups.values()]
    return sorted(rows, key=lambda row: (row.concurrency, row.rate_per_s or 0.0))


def tokens_and_steps(requests: Iterable[RequestCompleted]) -> list[tuple[int, int, str]]:
    """(tokens from verify steps, verify steps, prompt id) of each request that reports steps.

    The prefill emits the first token, and the first one again after a retraction; a server that
    does not report retractions is taken to have had none.
    """
    return [
        (r.completion_tokens - 1 - (r.retractions or 0), r.verify_ct, r.prompt_id)
        for r in requests
        if r.verify_ct is not None
    ]


def _row(results: Sequence[RunResult]) -> Row:
    trial = results[0].trial
    done = [result for result in results if result.failure is None]
    done_keys = {result.key for result in done}
    timed = [result for result in done if not result.trial.load.record_drafts]
    completed = [request for result in done for request in result.completed]
    timed_requests = [request for result in timed for request in result.completed]
    return Row(
        arm=trial.arm,
        speculation=trial.server.speculation,
        concurrency=trial.load.concurrency,
        rate_per_s=trial.load.rate_per_s,
        trials=len(done),
        failed_trials=len({result.key for result in results} - done_keys),
        completed=len(completed),
        failed_requests=sum(len(r.requests) for r in done) - len(completed),
        achieved_concurrency=_over_trials(map(achieved_concurrency, timed)),
        occupancy=_over_trials(map(occupancy, timed)),
        tokens_per_step=_tokens_per_step(completed),
        tokens_per_s=_throughput(timed),
        user_tokens_per_s=_user_tokens_per_s(timed_requests),
        tpot_s=_tpot_s(timed_requests),
        ttft_median_s=_ttft_median_s(timed_requests),
    )


def _throughput(results: Sequence[RunResult]) -> Interval | None:
    blocks = zip(results, blocks_of(results), strict=True)
    rates = [(rate, block) for r, block in blocks if (rate := tokens_per_s(r)) is not None]
    return rate_over_visits(*zip(*rates, strict=True)) if rates else None


def _over_trials(values: Iterable[float | None]) -> Interval | None:
    """Their mean; none of these quantities can be negative, so neither is the interval."""
    measured = [value for value in values if value is not None]
    if not measured:
        return None
    mean = mean_interval(measured)
    return mean if mean.low is None else replace(mean, low=max(mean.low, 0.0))


def _tokens_per_step(requests: Sequence[RequestCompleted]) -> Interval | None:
    counts = tokens_and_steps(requests)
    if not sum(steps for _, steps, _ in counts):
        return None
    tokens, steps, prompts = zip(*counts, strict=True)
    return pooled_ratio(tokens, steps, prompts)


def _user_tokens_per_s(requests: Sequence[RequestCompleted]) -> Interval | None:
    """Of all tokens after the first over the time that they took; None where it was no time."""
    long = [request for request in requests if request.completion_tokens > 1]
    times_s = [request.e2e_s - request.ttft_s for request in long]
    if not sum(times_s) > 0.0:
        return None
    tokens = [request.completion_tokens - 1 for request in long]
    return pooled_ratio(tokens, times_s, [request.prompt_id for request in long])


def _tpot_s(requests: Sequence[RequestCompleted]) -> Interval | None:
    """Mean over requests of the time a token after the first; one-token answers have none."""
    timed = [(time_s, r.prompt_id) for r in requests if (time_s := tpot_s(r)) is not None]
    return clustered_mean(*zip(*timed, strict=True)) if timed else None


def _ttft_median_s(requests: Sequence[RequestCompleted]) -> Interval | None:
    """Median over prompts of each prompt's mean over repeats, which are not independent."""
    by_prompt: dict[str, list[float]] = defaultdict(list)
    for request in requests:
        by_prompt[request.prompt_id].append(request.ttft_s)
    if not by_prompt:
        return None
    return median_interval([sum(times) / len(times) for times in by_prompt.values()])
