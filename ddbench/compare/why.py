"""Why one arm is faster: tokens a round of a request, time of a round, requests in a round.

    tok/s = (tokens / request-steps) x (request-steps / round) / (seconds / round)
            answers' counts            log: number running       log: throughput, accept len

Each factor has a witness of its own, and their product is held against the client's tok/s, which
none of them saw. A second check holds the log's number running against the answers' request-steps
over the number of lines, because a wrong number running cancels in the product.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ddbench.compare.arms import ComparedArm
from ddbench.compare.log_rounds import LogRounds, log_rounds
from ddbench.compare.measures import blocks_of, steps_of
from ddbench.compare.pairing import paired_trials, throughput_ratio
from ddbench.records import RunResult
from ddbench.stats.interval import Interval
from ddbench.stats.ratio import paired_ratio
from ddbench.stats.visits import ratio_over_visits

CLOSES_WITHIN = 0.05


@dataclass(frozen=True, slots=True)
class Check:
    """Two witnesses of one quantity. slack: by how much they may differ, relative."""

    what: str
    value: float
    other: float
    slack: float

    @property
    def off(self) -> float:
        """value / other - 1"""
        return self.value / self.other - 1.0

    @property
    def holds(self) -> bool:
        return abs(self.off) <= self.slack


@dataclass(frozen=True, slots=True)
class Decomposition:
    """speedup = rounds x round_time x occupancy, each above 1 where the second arm gains.

    rounds: rounds of a request that the first needs for each one of the second, per token (n:
    prompts). round_time: seconds a round of the first over the second (n: pairs of repeats, or
    visits).
    occupancy: requests in a round, second over first. product: of the three; measured: the ratio
    of tok/s by the client's clock.
    """

    rounds: Interval
    round_time: Interval
    occupancy: Interval
    product: float
    measured: Interval
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)


def decompose(first: ComparedArm, second: ComparedArm, concurrency: int) -> Decomposition | str:
    """The three factors at one concurrency, or in words what they could not be had from."""
    pairs = paired_trials(first.at(concurrency), second.at(concurrency))
    if not pairs:
        return "no repeat was run by both arms"
    sides = [_rounds(first, [a for a, _ in pairs]), _rounds(second, [b for _, b in pairs])]
    for arm, side in zip((first, second), sides, strict=True):
        if isinstance(side, str):
            return f"{arm.name}: {side}"
    mine, theirs = sides
    assert not isinstance(mine, str)
    assert not isinstance(theirs, str)
    measured = throughput_ratio([a for a, _ in pairs], [b for _, b in pairs])
    rounds = _tokens_a_step([a for a, _ in pairs], [b for _, b in pairs])
    if measured is None or rounds is None:
        return "the answers do not report verify steps for the same prompts"
    blocks = blocks_of([trial for trial, _ in pairs])
    round_time = ratio_over_visits(
        [r.seconds_a_round for r in mine], [r.seconds_a_round for r in theirs], blocks
    )
    occupancy = ratio_over_visits([r.running for r in theirs], [r.running for r in mine], blocks)
    product = rounds.value * round_time.value * occupancy.value
    return Decomposition(
        rounds=rounds,
        round_time=round_time,
        occupancy=occupancy,
        product=product,
        measured=measured,
        checks=(
            Check("factors against the client's tok/s", product, measured.value, CLOSES_WITHIN),
            _batch_check(first.name, [a for a, _ in pairs], mine),
            _batch_check(second.name, [b for _, b in pairs], theirs),
        ),
    )


def _rounds(arm: ComparedArm, trials: Sequence[RunResult]) -> list[LogRounds] | str:
    interval = arm.settings.get("decode_log_interval", "")
    if not interval.isdigit():
        return "the server does not say its --decode-log-interval"
    overlap = arm.settings.get("disable_overlap_schedule") == "false"
    found = [log_rounds(trial, int(interval), overlap=overlap) for trial in trials]
    known = [rounds for rounds in found if rounds is not None]
    if len(known) < len(found):
        return "a trial has too few log lines to tell the time of a round"
    return known


def _tokens_a_step(first: Sequence[RunResult], second: Sequence[RunResult]) -> Interval | None:
    """Of all tokens, the first of each answer too: the client's tok/s counts it."""
    sides = []
    for trials in (first, second):
        counted = steps_of(trials)
        tokens = [r.completion_tokens for trial in trials for r in trial.completed]
        if len(counted) != len(tokens) or not sum(c.steps for c in counted):
            return None
        sides.append((tokens, [c.steps for c in counted], [c.prompt_id for c in counted]))
    if set(sides[0][2]) != set(sides[1][2]):
        return None
    return paired_ratio(sides[1], sides[0])


def _batch_check(arm: str, trials: Sequence[RunResult], logged: Sequence[LogRounds]) -> Check:
    """Lines come every so many rounds, so their number is known to within one a trial."""
    steps = sum(counted.steps for counted in steps_of(trials))
    rounds = sum(one.rounds for one in logged)
    running = sum(one.running * one.rounds for one in logged) / rounds
    lines = sum(one.lines for one in logged)
    slack = CLOSES_WITHIN + len(logged) / lines
    return Check(
        f"{arm}: running in the log against steps in the answers", running, steps / rounds, slack
    )
