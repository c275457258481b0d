"""Coverage, what siblings catch, and calibration: against loops that share no code with ddbench."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ddbench.draft_records import DraftRecorder, read_recording
from ddbench.predict.drafter import drafter_facts, predicted_gain
from ddbench.predict.drafter_hits import BINS, ceiling_steps, count_hits
from ddbench.predict.recorded import RecordedArm, RecordedPrompt
from ddbench.records import ServerConfig, Speculation

Drafts = Any
SERVER = ServerConfig("embedded", "builtin", "builtin", Speculation("DFLASH", 6), 8)


@dataclass(frozen=True)
class Answer:
    """Shapes as in a recording: (P, L, K), (P, L, K), (P + 1,)."""

    token_ids: NDArray[np.int32]
    log_probs: NDArray[np.float32]
    output_ids: NDArray[np.int32]


@pytest.fixture
def record(tmp_path: Path) -> Callable[[Sequence[Drafts]], RecordedArm]:
    """Write answers as a server does, and read them back."""

    def written(answers: Sequence[Drafts]) -> RecordedArm:
        _, depth, topk = answers[0].token_ids.shape
        recorder = DraftRecorder(tmp_path / "x.drafts", depth=depth, topk=topk)
        for number, answer in enumerate(answers):
            for position, (ids, log_probs) in enumerate(
                zip(answer.token_ids, answer.log_probs, strict=True)
            ):
                root, choice = answer.output_ids[position : position + 2].tolist()
                recorder.write(
                    rid=f"p{number}",
                    prompt_len=5,
                    position=position,
                    root=root,
                    choice=choice,
                    token_ids=ids,
                    log_probs=log_probs,
                )
        recorder.close()
        recording = read_recording(tmp_path / "x.drafts")
        prompts = tuple(
            RecordedPrompt(answer.rid, tuple(answer.output_ids), recording, answer)
            for answer in recording.answers
        )
        return RecordedArm("drafts", SERVER, depth, topk, prompts, ())

    return written


def ranks_of(answer: Drafts, at: int) -> list[int | None]:
    """Of the answer's next tokens among the candidates of each depth; None: not there."""
    found: list[int | None] = []
    for depth, row in enumerate(answer.token_ids[at].tolist()):
        if at + 1 + depth < len(answer.output_ids):
            token = int(answer.output_ids[at + 1 + depth])
            found.append(row.index(token) if token in row else None)
    return found


def test_coverage_counts_every_position_whose_token_is_known(
    record: Callable[..., RecordedArm], drafts_of: Callable[..., Drafts]
) -> None:
    answers = [drafts_of(seed, positions=20 + seed) for seed in range(3)]

    facts = drafter_facts(record(answers))

    for coverage in facts.coverage:
        known = [
            ranks[coverage.depth - 1]
            for answer in answers
            for at in range(len(answer.output_ids) - 1)
            if len(ranks := ranks_of(answer, at)) >= coverage.depth
        ]
        assert coverage.positions == len(known)
        for k, share in coverage.at.items():
            hits = sum(rank is not None and rank < k for rank in known)
            assert share.value == pytest.approx(hits / len(known))
    assert [coverage.depth for coverage in facts.coverage] == [1, 2, 3, 4, 5]
    assert list(facts.coverage[0].at) == [1, 2, 4, 6]


def test_siblings_catch_what_a_linear_walk_met_wrong(
    record: Callable[..., RecordedArm], drafts_of: Callable[..., Drafts]
) -> None:
    answers = [drafts_of(seed) for seed in range(4)]
    met: list[int | None] = []
    for answer in answers:
        at = 0
        while at < len(answer.output_ids) - 1:
            ranks = ranks_of(answer, at)
            right = next((i for i, rank in enumerate(ranks) if rank != 0), len(ranks))
            if right < len(ranks):
                met.append(ranks[right])
            at += right + 1

    facts = drafter_facts(record(answers))

    assert facts.mismatches == len(met)
    for k, share in facts.caught.items():
        caught = sum(rank is not None and rank < k for rank in met)
        assert share.value == pytest.approx(caught / len(met))


def test_the_ceiling_is_a_walk_through_all_paths_of_topk(
    record: Callable[..., RecordedArm], drafts_of: Callable[..., Drafts]
) -> None:
    answer = drafts_of(7, positions=60)
    (prompt,) = record([answer]).prompts

    for topk in (1, 2, 6):
        at = steps = 0
        while at < 60:
            ranks = ranks_of(answer, at)
            accepted = 0
            while accepted < len(ranks) and (rank := ranks[accepted]) is not None and rank < topk:
                accepted += 1
            at += accepted + 1
            steps += 1
        assert ceiling_steps(prompt, topk=topk) == steps


def test_the_predicted_gain_is_that_of_trees_built_one_by_one(
    record: Callable[..., RecordedArm],
    drafts_of: Callable[..., Drafts],
    steps_by_heap: Callable[[Drafts, int, int], int],
) -> None:
    answers = [drafts_of(seed) for seed in range(3)]
    line, tree = (
        sum(steps_by_heap(answer, budget, topk) for answer in answers)
        for budget, topk in ((5, 1), (12, 3))
    )

    gain = predicted_gain(record(answers), budget=12, topk=3)

    assert gain.ratio.value == pytest.approx(line / tree)
    assert gain.ceiling.value >= gain.ratio.value
    assert gain.ceiling_topk == 3


def test_a_topk_beyond_the_recorded_has_the_ceiling_of_the_recorded(
    record: Callable[..., RecordedArm], drafts_of: Callable[..., Drafts]
) -> None:
    recorded = record([drafts_of(1)])

    gain = predicted_gain(recorded, budget=12, topk=99)

    assert gain.ceiling_topk == 6
    assert gain.ceiling == predicted_gain(recorded, budget=12, topk=6).ceiling


def truthful(rng: np.random.Generator, *, sharper: float = 1.0) -> Answer:
    """Answers that are drawn from what the drafter states; `sharper` states it too surely."""
    positions, vocab = 50, 8
    logits = rng.normal(0.0, 1.5, (positions, vocab))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    drawn = [int(rng.choice(vocab, p=row)) for row in chances]
    stated = sharper * logits
    stated = stated - np.log(np.exp(stated).sum(axis=1, keepdims=True))
    order = np.argsort(-stated, axis=1)
    return Answer(
        order[:, None, :].astype(np.int32),
        np.take_along_axis(stated, order, axis=1)[:, None, :].astype(np.float32),
        np.array([0, *drawn], dtype=np.int32),
    )


def test_a_drafter_that_means_what_it_states_is_calibrated(
    record: Callable[..., RecordedArm],
) -> None:
    """60 answers of 50 tokens. Of 300 seeds the worst read 2.1 times the chance level."""
    rng = np.random.default_rng(5)

    facts = drafter_facts(record([truthful(rng) for _ in range(60)]))

    for calibration in facts.calibration:
        assert calibration.error < 3.0 * calibration.by_chance
        assert calibration.stated_over_hit is not None
        assert calibration.stated_over_hit.value == pytest.approx(1.0, abs=0.08)
    first, others = facts.calibration
    assert (first.candidates, others.candidates) == (3_000, 21_000)
    for one in first.bins:
        assert one.low <= one.stated <= one.high


def test_a_drafter_that_is_too_sure_of_itself_is_not(record: Callable[..., RecordedArm]) -> None:
    """Of 300 seeds the least read 9 times the chance level."""
    rng = np.random.default_rng(5)

    facts = drafter_facts(record([truthful(rng, sharper=2.0) for _ in range(60)]))

    first = facts.calibration[0]
    assert first.error > 4.0 * first.by_chance
    assert first.stated_over_hit is not None
    assert first.stated_over_hit.low is not None
    assert first.stated_over_hit.low > 1.1


def test_every_candidate_falls_into_one_bin(
    record: Callable[..., RecordedArm], drafts_of: Callable[..., Drafts]
) -> None:
    answers = [drafts_of(seed) for seed in range(2)]

    hits = count_hits(record(answers).prompts)

    known = hits.positions.sum()
    assert hits.first.shape == (2, BINS, 3)
    assert hits.first[:, :, 0].sum() == known
    assert hits.others[:, :, 0].sum() == known * (hits.topk - 1)
    assert hits.first[:, :, 2].sum() == hits.by_rank[:, :, 0].sum()


def test_siblings_without_worth_leave_no_gain(
    record: Callable[..., RecordedArm], drafts_of: Callable[..., Drafts]
) -> None:
    """Behind the first choice stand tokens that no answer holds."""
    answers = [drafts_of(seed) for seed in range(50)]
    for answer in answers:
        answer.token_ids[:, :, 1:] = 1_000 + np.arange(5)

    recorded = record(answers)
    gain = predicted_gain(recorded, budget=12, topk=3)

    assert gain.ceiling.value == pytest.approx(1.0)
    assert gain.ratio.value <= 1.0
    assert all(share.value == 0.0 for share in drafter_facts(recorded).caught.values())
