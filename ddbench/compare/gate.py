"""May these two arms be divided by each other?

Refused is what changes speed or acceptance and is not the drafting setting under comparison.
Labelled is what belongs to an arm (its algorithm, patches, captured sizes, attention backend) and
anything else that differs: it stands beside every number. What is not known is listed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ddbench.compare.arms import ComparedArm
from ddbench.compare.conditions import Difference, labelling, not_known, refusing
from ddbench.compare.measures import achieved_concurrency, client_trouble
from ddbench.errors import NotComparable
from ddbench.records import RunResult

NEAR = 0.05  # of the asked concurrency that both sides must have achieved

UNLIKE = "unlike conditions"
"""The label of every number that was forced past a refusal."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Between a first and a second arm.

    unknown: conditions that must be alike and that a side does not report.
    """

    refused: tuple[Difference, ...]
    labels: tuple[Difference, ...]
    unknown: tuple[str, ...]


def differences(first: ComparedArm, second: ComparedArm) -> Differences:
    """All that differs between two arms' servers, machines, loads and answers."""
    return Differences(
        refused=tuple(refusing(first, second)),
        labels=tuple(labelling(first, second)),
        unknown=not_known(first, second),
    )


def require_comparable(first: ComparedArm, second: ComparedArm) -> Differences:
    """The differences, of which none refuses. Raises NotComparable naming all that do."""
    found = differences(first, second)
    if found.refused:
        raise NotComparable(
            f"{first.name} and {second.name} are not comparable; they differ in\n"
            + "\n".join(f"  {difference}" for difference in found.refused),
            remedy=_remedy(found.refused),
        )
    return found


def trouble_at(concurrency: int, trials: Sequence[RunResult]) -> list[str]:
    """Why an arm's trials at one concurrency cannot stand for it, in words; empty when they can."""
    if not trials:
        return ["no done trial"]
    found = []
    for trial in trials:
        where = f"repeat {trial.trial.repeat}"
        achieved = achieved_concurrency(trial)
        if len(trial.completed) < len(trial.requests):
            found.append(f"{where}: {len(trial.requests) - len(trial.completed)} requests failed")
        elif achieved is None or abs(achieved / concurrency - 1.0) > NEAR:
            shown = "not known" if achieved is None else f"{achieved:.2f}"
            found.append(f"{where}: achieved concurrency {shown}, asked for {concurrency}")
        if (late := client_trouble(trial)) is not None:
            found.append(f"{where}: {late}")
    return found


def _remedy(refused: Sequence[Difference]) -> str:
    names = {difference.what for difference in refused}
    if "disable_overlap_schedule" in names:
        return (
            "Run the linear arm with `flags: {disable-overlap-schedule: true}` too, as the tree "
            "forces it; --force compares anyway and labels every number."
        )
    return "Measure both arms alike; --force compares anyway and labels every number."
