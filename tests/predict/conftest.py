"""Drafts to replay, and what they would do, by a builder that shares no code with ddbench."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ddbench.draft_records import DraftRecorder, read_recording
from ddbench.predict.recorded import RecordedArm, RecordedPrompt
from ddbench.records import ServerConfig, Speculation

Tree = Callable[[Sequence[Sequence[float]], int, int], dict[tuple[int, ...], int]]
"""rows (L, K), budget, topk -> ranks along the path: pop, from 1"""


@dataclass(frozen=True)
class Drafts:
    """Invented drafts of every position of an answer, (P, L, K) and (P + 1,)."""

    token_ids: NDArray[np.int32]
    log_probs: NDArray[np.float32]
    output_ids: NDArray[np.int32]


def _invent(
    seed: int, *, positions: int = 40, depth: int = 5, topk: int = 6, vocab: int = 12
) -> Drafts:
    """An answer and a drafter that is often right; its log-probabilities are float32."""
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(positions, depth, vocab))
    output_ids = rng.integers(vocab, size=positions + 1)
    for place in range(1, positions + 1):  # what comes is likely, and less so further ahead
        for ahead in range(min(depth, place)):
            logits[place - ahead - 1, ahead, output_ids[place]] += 2.5 - 0.3 * ahead
    log_probs = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    order = np.argsort(-log_probs, axis=2, kind="stable")[:, :, :topk]
    return Drafts(
        order.astype(np.int32),
        np.take_along_axis(log_probs, order, axis=2).astype(np.float32),
        output_ids.astype(np.int32),
    )


def _sorted_tree(
    rows: Sequence[Sequence[float]], budget: int, topk: int
) -> dict[tuple[int, ...], int]:
    """Ranks along the path -> pop, from 1. All that there are, sorted: no heap, no laziness."""
    nodes = []

    def extend(weight: float, ranks: tuple[int, ...]) -> None:
        if len(ranks) < len(rows):
            for rank in range(min(topk, len(rows[0]))):
                below = weight + float(rows[len(ranks)][rank])
                nodes.append((-below, (*ranks, rank)))
                extend(below, (*ranks, rank))

    extend(0.0, ())
    return {ranks: pop for pop, (_, ranks) in enumerate(sorted(nodes)[:budget], start=1)}


def _heap_tree(
    rows: Sequence[Sequence[float]], budget: int, topk: int
) -> dict[tuple[int, ...], int]:
    """The same by the paper's heap: what a plain builder of one tree costs."""
    popped: dict[tuple[int, ...], int] = {}
    heap = [(-rows[0][0], (0,), 0.0)]
    while heap and len(popped) < budget:
        negative, ranks, above = heapq.heappop(heap)
        popped[ranks] = len(popped) + 1
        depth, rank = len(ranks), ranks[-1]
        if rank + 1 < topk:
            heapq.heappush(
                heap, (-(above + rows[depth - 1][rank + 1]), (*ranks[:-1], rank + 1), above)
            )
        if depth < len(rows):
            heapq.heappush(heap, (negative - rows[depth][0], (*ranks, 0), -negative))
    return popped


def _steps_by_heap(drafts: Drafts, budget: int, topk: int) -> int:
    """Verify steps of one answer: a tree a step, followed token by token."""
    output, end = drafts.output_ids.tolist(), len(drafts.output_ids) - 1
    at = steps = 0
    while at < end:
        tree = _heap_tree(drafts.log_probs[at].tolist(), budget, topk)
        ranks: tuple[int, ...] = ()
        place = at + 1
        while place <= end and len(ranks) < drafts.token_ids.shape[1]:
            row = drafts.token_ids[at, len(ranks)].tolist()
            if output[place] not in row or (*ranks, row.index(output[place])) not in tree:
                break
            ranks = (*ranks, row.index(output[place]))
            place += 1
        at = min(at + len(ranks) + 1, end)
        steps += 1
    return steps


@pytest.fixture(scope="session")
def drafts_of() -> Callable[..., Drafts]:
    """drafts_of(seed, ...): see _invent."""
    return _invent


@pytest.fixture(scope="session")
def sorted_tree() -> Tree:
    return _sorted_tree


@pytest.fixture(scope="session")
def heap_tree() -> Tree:
    return _heap_tree


@pytest.fixture(scope="session")
def steps_by_heap() -> Callable[[Drafts, int, int], int]:
    return _steps_by_heap


@pytest.fixture
def invented_arm(drafts_of: Callable[..., Drafts], tmp_path: Path) -> RecordedArm:
    """Three answers, p0 to p2, five depths of six candidates, recorded in tmp_path/x.drafts."""
    path = tmp_path / "x.drafts"
    recorder = DraftRecorder(path, depth=5, topk=6)
    outputs = {}
    for seed in range(3):
        drafts = drafts_of(seed)
        outputs[f"p{seed}"] = drafts.output_ids.tolist()
        for position, (root, choice) in enumerate(
            zip(drafts.output_ids, drafts.output_ids[1:], strict=False)
        ):
            recorder.write(
                rid=f"p{seed}",
                prompt_len=4,
                position=position,
                root=int(root),
                choice=int(choice),
                token_ids=drafts.token_ids[position],
                log_probs=drafts.log_probs[position],
            )
    recorder.close()
    recording = read_recording(path)
    prompts = tuple(
        RecordedPrompt(answer.rid, tuple(outputs[answer.rid]), recording, answer)
        for answer in recording.answers
    )
    server = ServerConfig("embedded", "m", "d", Speculation("DFLASH", 6), max_running_requests=1)
    return RecordedArm("recorded", server, 5, 6, prompts, ())
