"""Each arm against the linear and the autoregressive one that ran under the same conditions."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ddbench.compare.gate import trouble_at
from ddbench.compare.pairing import throughput_ratio
from ddbench.records import Flags, RequestCompleted, RunResult, ServerConfig
from ddbench.report.summary import tokens_and_steps
from ddbench.stats.interval import Interval
from ddbench.stats.ratio import paired_ratio

Kind = Literal["linear", "autoregressive"]
KINDS: tuple[Kind, ...] = ("linear", "autoregressive")
Trials = list[RunResult]


@dataclass(frozen=True, slots=True)
class Speedup:
    """One arm over a reference arm at one concurrency or rate; above 1 the arm is better.

    tokens_per_s: ratio of the trials' throughput, paired by repeat; n counts pairs, or visits where
    there are several. It carries the noise of running again, not the choice of prompts.
    request_rate: ratio of sum(tokens) / sum(E2E), paired by prompt; n counts prompts. It carries
    the choice of prompts, not the noise of running again. Both None where a trial cannot stand for
    its arm.
    tokens_per_step: paired by prompt; None against autoregressive.
    """

    arm: str
    reference: str
    kind: Kind
    concurrency: int
    rate_per_s: float | None  # of an open loop, whose concurrency is 0
    tokens_per_s: Interval | None
    request_rate: Interval | None
    tokens_per_step: Interval | None


def speedups(results: Iterable[RunResult]) -> list[Speedup]:
    """Every arm that has a like reference, against it: loads ascending, arms as they ran.

    Like means the same weights, engine, flags and environment, and for linear the same block size:
    an arm with CUDA graphs off is not held against one with them on.
    """
    timed = [r for r in results if r.failure is None and not r.trial.load.record_drafts]
    servers = {result.trial.arm: result.trial.server for result in timed}
    groups: dict[tuple[str, tuple[int, float | None]], Trials] = defaultdict(list)
    for result in timed:
        load = result.trial.load
        groups[result.trial.arm, (load.concurrency, load.rate_per_s)].append(result)
    found = [
        _speedup(groups[arm, load], groups[reference, load], kind)
        for kind in KINDS
        for arm, load in groups
        if (reference := reference_arm(arm, servers, kind)) is not None
        if (reference, load) in groups
    ]
    return sorted(found, key=lambda one: (one.concurrency, one.rate_per_s or 0.0))


def reference_arm(arm: str, servers: dict[str, ServerConfig], kind: Kind) -> str | None:
    """The first arm of `kind` that ran under the conditions of `arm`; never `arm` itself."""
    own = servers[arm]
    return next(
        (
            other
            for other, server in servers.items()
            if other != arm and is_kind(server, kind) and _conditions(server) == _conditions(own)
            if kind == "autoregressive" or _drafter(server) == _drafter(own)
        ),
        None,
    )


def is_kind(server: ServerConfig, kind: Kind) -> bool:
    speculation = server.speculation
    if kind == "autoregressive":
        return speculation.algorithm is None
    return speculation.algorithm is not None and speculation.budget is None


def _conditions(server: ServerConfig) -> tuple[object, ...]:
    return (
        server.engine,
        server.model,
        server.max_running_requests,
        _shared_flags(server.flags),
        server.env,
        server.base_url,
    )


def _shared_flags(flags: Flags) -> Flags:
    return tuple(flag for flag in flags if not flag[0].startswith("speculative-"))


def _drafter(server: ServerConfig) -> tuple[str | None, int | None]:
    return server.draft_model, server.speculation.block_size


def _speedup(arm: Trials, reference: Trials, kind: Kind) -> Speedup:
    own, other = _shared_prompts(arm, reference)
    usable = not (_has_trouble(arm) or _has_trouble(reference))
    return Speedup(
        arm=arm[0].trial.arm,
        reference=reference[0].trial.arm,
        kind=kind,
        concurrency=arm[0].trial.load.concurrency,
        rate_per_s=arm[0].trial.load.rate_per_s,
        tokens_per_s=throughput_ratio(reference, arm) if usable else None,
        request_rate=_request_rate(own, other) if usable else None,
        tokens_per_step=_tokens_per_step(own, other) if kind == "linear" else None,
    )


def _has_trouble(trials: Trials) -> bool:
    """As the comparison refuses them; an open loop asks for no concurrency that it could miss."""
    if concurrency := trials[0].trial.load.concurrency:
        return bool(trouble_at(concurrency, trials))
    return any(len(one.completed) < len(one.requests) for one in trials)


def _shared_prompts(
    arm: Trials, reference: Trials
) -> tuple[list[RequestCompleted], list[RequestCompleted]]:
    """The requests of both sides for prompts that were answered on both."""
    sides = [[r for result in trials for r in result.completed] for trials in (arm, reference)]
    shared = {r.prompt_id for r in sides[0]} & {r.prompt_id for r in sides[1]}
    own, other = ([r for r in side if r.prompt_id in shared] for side in sides)
    return own, other


def _request_rate(
    own: Sequence[RequestCompleted], other: Sequence[RequestCompleted]
) -> Interval | None:
    if not own:
        return None
    first, second = (
        (
            [r.completion_tokens for r in side],
            [r.e2e_s for r in side],
            [r.prompt_id for r in side],
        )
        for side in (own, other)
    )
    return paired_ratio(first, second)


def _tokens_per_step(
    own: Sequence[RequestCompleted], other: Sequence[RequestCompleted]
) -> Interval | None:
    counts = [tokens_and_steps(side) for side in (own, other)]
    shared = {prompt for *_, prompt in counts[0]} & {prompt for *_, prompt in counts[1]}
    kept = [[count for count in side if count[2] in shared] for side in counts]
    if not all(sum(tokens for tokens, *_ in side) for side in kept):
        return None
    first, second = (tuple(zip(*side, strict=True)) for side in kept)
    return paired_ratio((first[0], first[1], first[2]), (second[0], second[1], second[2]))
