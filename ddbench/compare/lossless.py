"""Speculation must not change what is said: an arm against the autoregressive one, and itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from ddbench.compare.answers import Agreement, agreement, self_agreement
from ddbench.compare.arms import ComparedArm, plain_arm
from ddbench.compare.conditions import Difference, refusing
from ddbench.compare.pairing import shared_concurrencies

Outcome = Literal["lossless", "near ties", "within noise", "lossy", "not known", "not compared"]

DEVIATIONS = 2.0  # binomial, by which an arm may part more often than the reference from itself


@dataclass(frozen=True, slots=True)
class Losslessness:
    """One arm's answers at one concurrency, at temperature 0.

    own_noise: of the arm against itself, at the same concurrency; reference_noise: of the
    autoregressive arm. why: what kept them from being compared.
    """

    run: str
    arm: str
    reference: str
    concurrency: int
    outcome: Outcome
    against_reference: Agreement | None
    own_noise: Agreement | None
    reference_noise: Agreement | None
    why: tuple[str, ...] = ()


_SAY_NOTHING_OF_ANSWERS = frozenset(
    {
        *("max_running_requests", "effective max running requests", "disable_overlap_schedule"),
        *("disable_radix_cache", "schedule_policy", "stream_interval", "skip_server_warmup"),
        *("max_running_requests (asked)", "count", "prompt ids", "rate per s", "arrival"),
        *("burstiness", "output tokens of the same prompts", "logprobs", "page_size"),
    }
)
"""Conditions of speed alone: answers may be held against each other where they differ."""


def losslessness(arms: Sequence[ComparedArm]) -> list[Losslessness]:
    """Every drafting arm against the autoregressive one of its run, or else of the other run.

    At each concurrency that both ran; empty where nothing ran autoregressively.
    """
    return [
        _at(plain, arm, concurrency)
        for arm in arms
        if not arm.is_plain and (plain := plain_arm(arms, arm)) is not None
        for concurrency in shared_concurrencies(plain, arm)
    ]


def _at(plain: ComparedArm, arm: ComparedArm, concurrency: int) -> Losslessness:
    reference, trials = plain.at(concurrency), arm.at(concurrency)
    why = [str(d) for d in refusing(plain, arm) if _matters(d)]
    if trials[0].trial.load.temperature != 0.0:
        why.append("sampled answers differ by chance; run at temperature 0")
    found = None if why else agreement(reference, trials)
    if found is not None and not found.compared:
        why.append("the server gave no token ids")
    noise = self_agreement(reference)
    return Losslessness(
        run=arm.run,
        arm=arm.name,
        reference=plain.name,
        concurrency=concurrency,
        outcome=(
            "not compared" if found is None or not found.compared else outcome_of(found, noise)
        ),
        against_reference=found,
        own_noise=self_agreement(trials),
        reference_noise=noise,
        why=tuple(why),
    )


def outcome_of(found: Agreement, noise: Agreement | None = None) -> Outcome:
    """An answer that parts where there is no tie is a loss.

    noise: of the autoregressive arm against itself. Where that parts at no tie about as often, as
    with arithmetic of few bits and batches that change, a loss cannot be told from it.
    """
    if not found.divergences:
        return "lossless"
    if untied := found.caused_by("no tie"):
        return "within noise" if untied <= _allowed(found.compared, noise) else "lossy"
    if found.caused_by("not known") or found.caused_by("length"):
        return "not known"
    return "near ties"


def _allowed(compared: int, noise: Agreement | None) -> float:
    """So many of `compared` answers may part at no tie, as the reference's own do."""
    if noise is None or not noise.compared:
        return 0.0
    own = noise.caused_by("no tie") / noise.compared
    return compared * own + DEVIATIONS * sqrt(compared * own * (1.0 - own))


def _matters(difference: Difference) -> bool:
    return difference.what not in _SAY_NOTHING_OF_ANSWERS
