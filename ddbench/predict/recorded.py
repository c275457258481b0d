"""The prompts of a run whose drafts were recorded, and the settings they can speak for."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ddbench.draft_records import (
    SUFFIX,
    RecordedAnswer,
    Recording,
    prompt_of,
    read_recording,
)
from ddbench.errors import RunError
from ddbench.records import Launch, RequestCompleted, RequestFailed, RunResult, ServerConfig


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPrompt:
    """One answer whose drafts are known at every position."""

    prompt_id: str
    output_ids: tuple[int, ...]
    recording: Recording
    answer: RecordedAnswer

    def drafts(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Token ids and log-probabilities, each (tokens - 1, L, K)."""
        return self.recording.drafts(self.answer)


@dataclass(frozen=True, slots=True, eq=False)
class RecordedArm:
    """What one recording arm of a run left behind. notes: what was left out, and why."""

    arm: str
    server: ServerConfig
    depth: int
    topk: int
    prompts: tuple[RecordedPrompt, ...]
    notes: tuple[str, ...]

    def speaks_for(self, server: ServerConfig) -> bool:
        """Whether `server` writes the recorded text, from the recorded drafts where it drafts."""
        own, other = self.server, server
        if (own.engine, own.model) != (other.engine, other.model):
            return False
        if dict(own.flags).get("fault") != dict(other.flags).get("fault"):  # planted on purpose
            return False
        if other.record_drafts or other.speculation.algorithm is None:
            return not other.record_drafts
        return (
            other.speculation.algorithm in ("DFLASH", "DDTREE")
            and other.draft_model == own.draft_model
            and other.speculation.block_size in (None, self.depth + 1)
        )


def recorded_arm(
    folder: Path, launches: Sequence[Launch], results: Sequence[RunResult], *, arm: str | None
) -> RecordedArm:
    """The recording arm called `arm`, or the only one there is.

    Raises RunError when there is none, several, or one without a usable answer.
    """
    probes: dict[str, list[RunResult]] = defaultdict(list)
    for result in results:
        if result.trial.server.record_drafts:
            probes[result.trial.arm].append(result)
    if not probes or (arm is not None and arm not in probes):
        raise RunError(
            f"{folder} holds no recorded drafts" + (f" of an arm {arm}" if arm else ""),
            remedy="Run a sweep with `record_drafts: true` on a linear arm, as sweeps/predict.yaml "
            "has it" + (f"; this run recorded {', '.join(probes)}." if probes else "."),
        )
    if arm is None and len(probes) > 1:
        raise RunError(
            f"{folder} recorded the drafts of {', '.join(probes)}",
            remedy="Choose one with --arm.",
        )
    name = arm if arm is not None else next(iter(probes))
    server = probes[name][0].trial.server
    recordings = [
        read_recording(folder / Path(launch.log_name).with_suffix(SUFFIX))
        for launch in launches
        if launch.server == server and launch.log_name is not None and launch.failure is None
    ]
    prompts, notes = join(recordings, (r for result in probes[name] for r in result.completed))
    if not prompts:
        raise RunError(
            f"no answer of {name} in {folder} was recorded whole",
            remedy="Run the sweep again, or resume it with `ddbench sweep --resume`.",
        )
    notes += _unanswered(probes[name], {prompt.prompt_id for prompt in prompts})
    if any(result.trial.load.temperature != 0.0 for result in probes[name]):
        notes.append("Sampled answers: a replay of them is no prediction of other samples.")
    recorded = recordings[0]
    return RecordedArm(name, server, recorded.depth, recorded.topk, tuple(prompts), tuple(notes))


def _unanswered(results: Sequence[RunResult], recorded: Set[str]) -> Iterator[str]:
    failed = {
        request.prompt_id: request.reason
        for result in results
        for request in result.requests
        if isinstance(request, RequestFailed) and request.prompt_id not in recorded
    }
    for prompt_id, reason in list(failed.items())[:1]:
        yield (
            f"{len(failed)} prompts were not answered while drafts were recorded, and are left "
            f"out. The first, {prompt_id}: {reason.removesuffix('.')}."
        )


def join(
    recordings: Sequence[Recording], requests: Iterable[RequestCompleted]
) -> tuple[list[RecordedPrompt], list[str]]:
    """Pair answers with their drafts, by the prompt in the request's id.

    The tokens must be the same, so that no warm-up and no other request is taken for the answer.
    Steps behind its last token (overlap scheduling runs one too many) are left out.
    """
    answers: dict[str, list[tuple[Recording, RecordedAnswer]]] = defaultdict(list)
    for recording in recordings:
        for answer in recording.answers:
            answers[prompt_of(answer.rid)].append((recording, answer))
    prompts: dict[str, RecordedPrompt] = {}
    missing: dict[str, None] = {}
    for request in requests:
        output_ids = request.output_ids or ()
        for recording, answer in answers[request.prompt_id]:
            if output_ids and tuple(answer.output_ids[: len(output_ids)]) == output_ids:
                cut = replace(answer, offsets=answer.offsets[: len(output_ids) - 1])
                prompts[request.prompt_id] = RecordedPrompt(
                    request.prompt_id, output_ids, recording, cut
                )
        if request.prompt_id not in prompts:
            missing[request.prompt_id] = None
    notes = [note for recording in recordings for note in recording.notes]
    if absent := [prompt_id for prompt_id in missing if prompt_id not in prompts]:
        notes.append(
            f"{len(absent)} prompts were not recorded whole, and are left out: {absent[0]}…"
        )
    return list(prompts.values()), notes
