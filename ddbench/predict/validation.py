"""Predicted verify steps against those that the same run measured, request by request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ddbench.predict.frontier import smallest_gap
from ddbench.predict.recorded import RecordedArm, RecordedPrompt
from ddbench.predict.replay import Grid, replay
from ddbench.predict.timed import build_name
from ddbench.records import RequestCompleted, RunResult, Speculation

TIE_NATS = 1e-5
"""Two servers' log-probabilities differ by less than this in single precision."""

ALLOWED_TIES = 1 / 1000
"""Of all compared requests."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A request that took other steps than predicted. gap: the closest tie on its way, in nats."""

    arm: str
    concurrency: int
    prompt_id: str
    predicted: int
    measured: int
    gap: float
    position: int

    @property
    def is_tie(self) -> bool:
        return self.gap < TIE_NATS


@dataclass(frozen=True, slots=True)
class ArmValidation:
    """One measured arm. other_text: requests whose answer is not the recorded one.

    not_recorded: requests whose prompt has no recorded answer. build: patches that it ran with,
    where the recording ran with others.
    """

    arm: str
    speculation: Speculation
    compared: int
    predicted_steps: int
    measured_steps: int
    other_text: int
    differences: tuple[Difference, ...]
    not_recorded: int = 0
    build: str | None = None


def passes(arms: Sequence[ArmValidation]) -> bool:
    """Whether every difference is a tie, and there are few; false where nothing was compared."""
    compared = sum(arm.compared for arm in arms)
    differences = [difference for arm in arms for difference in arm.differences]
    return (
        compared > 0
        and all(difference.is_tie for difference in differences)
        and len(differences) <= compared * ALLOWED_TIES
    )


def validate(recorded: RecordedArm, results: Sequence[RunResult]) -> list[ArmValidation]:
    """Every measured linear and tree arm whose steps the recorded drafts determine.

    Only requests that report their verify steps are compared, and only where the text is the
    recorded one: another text has other drafts.
    """
    prompts = {prompt.prompt_id: prompt for prompt in recorded.prompts}
    requests: dict[str, list[tuple[RunResult, RequestCompleted]]] = {}
    for result in results:
        server = result.trial.server
        if server.speculation.algorithm is None or not recorded.speaks_for(server):
            continue
        for request in result.completed:
            requests.setdefault(result.trial.arm, []).append((result, request))
    return [_validate_arm(recorded, prompts, arm, of_arm) for arm, of_arm in requests.items()]


def _validate_arm(
    recorded: RecordedArm,
    prompts: dict[str, RecordedPrompt],
    arm: str,
    requests: Sequence[tuple[RunResult, RequestCompleted]],
) -> ArmValidation:
    server = requests[0][0].trial.server
    speculation = server.speculation
    budget, topk = speculation.budget or recorded.depth, speculation.topk or 1
    predicted: dict[str, int] = {}
    differences: list[Difference] = []
    compared = other_text = not_recorded = predicted_steps = measured_steps = 0
    for result, request in requests:
        prompt = prompts.get(request.prompt_id)
        if prompt is None:
            not_recorded += 1
            continue
        if request.verify_ct is None:
            continue
        if request.output_ids != prompt.output_ids:
            other_text += 1
            continue
        if prompt.prompt_id not in predicted:
            replayed = replay(*prompt.drafts(), prompt.output_ids, Grid((topk,), (budget,)))
            predicted[prompt.prompt_id] = int(replayed.verify_steps[0, 0])
        steps = predicted[prompt.prompt_id]
        compared += 1
        predicted_steps += steps
        measured_steps += request.verify_ct
        if steps != request.verify_ct:
            gap, position = smallest_gap(
                *prompt.drafts(), prompt.output_ids, budget=budget, topk=topk
            )
            differences.append(
                Difference(
                    arm,
                    result.trial.load.concurrency,
                    prompt.prompt_id,
                    steps,
                    request.verify_ct,
                    gap,
                    position,
                )
            )
    return ArmValidation(
        arm=arm,
        speculation=speculation,
        compared=compared,
        predicted_steps=predicted_steps,
        measured_steps=measured_steps,
        other_text=other_text,
        differences=tuple(differences),
        not_recorded=not_recorded,
        build=None if server.patches == recorded.server.patches else build_name(server),
    )


def notes(arms: Sequence[ArmValidation]) -> Iterator[str]:
    for arm in arms:
        if arm.build is not None:
            yield f"{arm.arm} ran with {arm.build}, which the recording did not."
        if arm.not_recorded:
            yield f"{arm.arm}: {arm.not_recorded} answers have no recorded one, and are left out."
        if arm.other_text:
            yield (
                f"{arm.arm}: {arm.other_text} answers are not the recorded ones, and were not "
                "compared: drafts are those of one text."
            )
