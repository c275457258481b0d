"""How long replaying a grid of trees takes, against building each tree with a plain heap.

    python tests/benchmarks/bench_replay.py [POSITIONS]

Both sides get the same invented drafts (block size 16, 16 candidates) and answer the same question:
how deep does the tree of this budget and topk follow the answer from this position? The heap is the
paper's, in Python, on lists. The replay's time is all of it: ranking the answer, every pop, and the
walk through the answer for every setting. Exit code 1 when it is less than 50 times as fast for
each (position, setting), in CPU seconds, or when the two disagree.
"""

import heapq
import sys
import time
import tracemalloc
from collections.abc import Sequence

import numpy as np

from ddbench.predict.replay import Grid, replay

LIMIT = 50.0
DEPTH, TOPK, VOCAB = 15, 16, 256
GRID = Grid(topks=tuple(range(1, 17)), budgets=tuple(range(1, 129)))
SAMPLED_SETTINGS = 24


def invent(positions: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids and log-probabilities (P, L, K), and an answer of which about four tokens are guessed."""
    rng = np.random.default_rng(seed)
    output_ids = rng.integers(VOCAB, size=positions + 1)
    logits = 2.0 * rng.normal(size=(positions, DEPTH, VOCAB)).astype(np.float32)
    for ahead in range(DEPTH):
        places = np.arange(positions - ahead)
        logits[places, ahead, output_ids[places + ahead + 1]] += 7.0 - 0.3 * ahead
    log_probs = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    order = np.argsort(-log_probs, axis=2)[:, :, :TOPK]
    best = np.take_along_axis(log_probs, order, axis=2)
    return order.astype(np.int32), best.astype(np.float32), output_ids.astype(np.int32)


def plain_tree(rows: Sequence[Sequence[float]], budget: int, topk: int) -> set[tuple[int, ...]]:
    """The nodes of one tree, as ranks along their paths."""
    nodes: set[tuple[int, ...]] = set()
    heap = [(-rows[0][0], (0,), 0.0)]
    while heap and len(nodes) < budget:
        negative, ranks, above = heapq.heappop(heap)
        nodes.add(ranks)
        depth, rank = len(ranks), ranks[-1]
        if rank + 1 < topk:
            sibling = (*ranks[:-1], rank + 1)
            heapq.heappush(heap, (-(above + rows[depth - 1][rank + 1]), sibling, above))
        if depth < len(rows):
            heapq.heappush(heap, (negative - rows[depth][0], (*ranks, 0), -negative))
    return nodes


def plain_steps(
    ids: list[list[list[int]]],
    output: list[int],
    trees: list[set[tuple[int, ...]]],
) -> int:
    """The steps of one setting, given its tree at every position."""
    at, steps, end = 0, 0, len(output) - 1
    while at < end:
        ranks: tuple[int, ...] = ()
        while len(ranks) < DEPTH and at + len(ranks) < end:
            row, token = ids[at][len(ranks)], output[at + len(ranks) + 1]
            if token not in row or (*ranks, row.index(token)) not in trees[at]:
                break
            ranks = (*ranks, row.index(token))
        at += len(ranks) + 1
        steps += 1
    return steps


def main() -> int:
    positions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    token_ids, log_probs, output_ids = invent(positions)
    settings = len(GRID.topks) * len(GRID.budgets)

    begin = time.process_time()
    steps = replay(token_ids, log_probs, output_ids, GRID).verify_steps
    ours_s = (time.process_time() - begin) / (positions * settings)
    tracemalloc.start()
    replay(token_ids, log_probs, output_ids, Grid(GRID.topks[-1:], GRID.budgets))
    peak_mib = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()

    rng = np.random.default_rng(1)
    some = min(positions, 100)  # positions whose trees are timed; all are needed for the check
    ids, rows = token_ids[:some].tolist(), log_probs[:some].tolist()
    output = output_ids[: some + 1].tolist()
    short = replay(token_ids[:some], log_probs[:some], output_ids[: some + 1], GRID).verify_steps
    plain_s = 0.0
    for _ in range(SAMPLED_SETTINGS):
        budget, topk = int(rng.integers(1, 129)), int(rng.integers(1, 17))
        begin = time.process_time()
        trees = [plain_tree(row, budget, topk) for row in rows]
        plain_s += (time.process_time() - begin) / (SAMPLED_SETTINGS * some)
        if short[topk - 1, budget - 1] != plain_steps(ids, output, trees):
            print(f"disagree at budget {budget}, topk {topk}")
            return 1

    ratio = plain_s / ours_s
    print(
        f"{positions} positions, {settings} settings, best {steps.min()} steps: heap "
        f"{plain_s * 1e6:.1f} us a position and setting, replay {ours_s * 1e6:.3f} us, "
        f"{ratio:.0f} times as fast (limit {LIMIT:.0f}); its peak is {peak_mib:.1f} MiB"
    )
    return int(ratio < LIMIT)


if __name__ == "__main__":
    sys.exit(main())
