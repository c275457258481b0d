"""What one trial says of itself, as the comparison counts it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from ddbench.records import RequestCompleted, RunResult
from ddbench.stats.in_flight import mean_in_flight

BUSY = 0.8  # of the one core that a load generator can use
SHARE = 0.05  # of the median answer time that the client may be late
NOTABLE_S = 0.05


@dataclass(frozen=True, slots=True)
class Steps:
    """Tokens that verify steps made and the request-steps they took, for one answer."""

    prompt_id: str
    tokens: int
    steps: int


def steps_of(results: Iterable[RunResult]) -> list[Steps]:
    """One entry an answer that reports its steps.

    A plain decoder takes one step a token and reports none. The prefill emits the first token, and
    again after a retraction; a server that does not report retractions is taken to have had none.
    """
    found = []
    for result in results:
        plain = result.trial.server.speculation.algorithm is None
        for request in result.completed:
            tokens = request.completion_tokens - 1 - (request.retractions or 0)
            steps = tokens if plain else request.verify_ct
            if steps is not None:
                found.append(Steps(request.prompt_id, tokens, steps))
    return found


def tokens_per_s(result: RunResult) -> float | None:
    """Tokens of a trial over the time from its first send to its last byte."""
    tokens = sum(request.completion_tokens for request in result.completed)
    return tokens / result.wall_s if result.wall_s and tokens else None


def blocks_of(trials: Sequence[RunResult]) -> list[int] | list[str]:
    """What trials share with others: the host, where there are several, else the visit."""
    if len({trial.host for trial in trials}) > 1:
        return [trial.host or "" for trial in trials]
    return [trial.trial.visit for trial in trials]


def tpot_s(request: RequestCompleted) -> float | None:
    """Time a token after the first; an answer of one token has none."""
    if request.completion_tokens < 2:
        return None
    return (request.e2e_s - request.ttft_s) / (request.completion_tokens - 1)


def achieved_concurrency(result: RunResult) -> float | None:
    """As stats.in_flight; None when a request failed, too: nobody knows how long it took."""
    if not result.requests or len(result.completed) < len(result.requests):
        return None
    return mean_in_flight([(r.sent_s, r.sent_s + r.e2e_s) for r in result.completed])


def client_trouble(result: RunResult) -> str | None:
    """How the load generator itself was too slow in this trial, in words; as rule DDB206."""
    client, wall_s = result.client, result.wall_s
    if client is None or not wall_s or not result.completed:
        return None
    typical_s = median(request.e2e_s for request in result.completed)
    limit_s = max(NOTABLE_S, SHARE * typical_s)
    late_s = max(request.lateness_s for request in result.completed)
    if client.cpu_s > BUSY * wall_s:
        return f"the client used {client.cpu_s:.1f} s of processor time in {wall_s:.1f} s"
    if client.loop_lag_max_s > limit_s:
        return f"the client stood still for {client.loop_lag_max_s:.2f} s"
    if late_s > limit_s:
        return f"the client sent a request {late_s:.2f} s late"
    return None
