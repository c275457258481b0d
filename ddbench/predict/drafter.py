"""How good a drafter is, and how much of that a tree can use: from its recorded drafts alone.

Coverage@k at a depth is the share of positions at which the target's token is among the drafter's
first k candidates there, whatever came before. A linear draft uses the first of them; a tree adds
siblings, and can gain no more than what they cover. A replay of the trees themselves says how much
of it a budget catches, since the drafter's own probabilities decide which siblings are drafted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi, sqrt
from typing import Literal

import numpy as np

from ddbench.predict.acceptance import acceptance
from ddbench.predict.drafter_hits import BINS, Floats, Hits, ceiling_steps, count_hits
from ddbench.predict.recorded import RecordedArm
from ddbench.predict.replay import Grid
from ddbench.stats.interval import Interval
from ddbench.stats.ratio import paired_ratio, pooled_ratio
from ddbench.stats.share import share_interval

COVERAGE_AT = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one depth. at: k -> share of `positions` covered by the first k candidates."""

    depth: int
    positions: int
    at: Mapping[int, Interval]


@dataclass(frozen=True, slots=True)
class Bin:
    """Candidates with a stated probability from `low` to `high`.

    stated: their mean probability; hits: the share that was the target's token.
    """

    low: float
    high: float
    candidates: int
    stated: float
    hits: Interval


@dataclass(frozen=True, slots=True)
class Calibration:
    """Do stated probabilities come true? Bins that hold nothing are left out.

    error: the expected calibration error, the mean over candidates of |stated - hits| of their bin.
    It has no interval that would cover: chance keeps it above 0. by_chance: what a drafter with no
    such error would show here, by the spread between prompts.
    stated_over_hit: 1 where as many came true as stated, above where the drafter promises too much;
    None without hits.
    """

    of: Literal["first choices", "other candidates"]
    candidates: int
    bins: tuple[Bin, ...]
    error: float
    by_chance: float
    stated_over_hit: Interval | None


@dataclass(frozen=True, slots=True)
class DrafterFacts:
    """One recording arm's drafter. caught: k -> share of `mismatches` that a sibling among the
    first k candidates would have caught; mismatches: linear steps that met a wrong first choice.
    """

    arm: str
    draft_model: str | None
    prompts: int
    depth: int
    topk: int
    coverage: tuple[Coverage, ...]
    mismatches: int
    caught: Mapping[int, Interval]
    calibration: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True)
class PredictedGain:
    """Tokens a step of a tree over the linear draft, replayed from the recording.

    ceiling: the same with every path of the first topk candidates in the tree. ceiling_topk: less
    than the tree's topk where fewer candidates were recorded.
    """

    ratio: Interval
    ceiling: Interval
    ceiling_topk: int


def drafter_facts(recorded: RecordedArm) -> DrafterFacts:
    """Intervals are clustered by prompt; n counts prompts."""
    hits = count_hits(recorded.prompts)
    asked = [k for k in COVERAGE_AT if k < hits.topk] + [hits.topk]
    mismatches = hits.mismatch_ranks.sum(axis=1)
    return DrafterFacts(
        arm=recorded.arm,
        draft_model=recorded.server.draft_model,
        prompts=len(hits.prompt_ids),
        depth=recorded.depth,
        topk=hits.topk,
        coverage=tuple(
            _coverage(hits, depth, asked) for depth in range(recorded.depth) if _seen(hits, depth)
        ),
        mismatches=int(mismatches.sum()),
        caught={
            k: share_interval(hits.mismatch_ranks[:, 1:k].sum(axis=1), mismatches, hits.prompt_ids)
            for k in asked
            if k > 1 and mismatches.sum()
        },
        calibration=tuple(
            _calibration(of, binned, hits.prompt_ids)
            for of, binned in _kinds(hits)
            if binned[:, :, 0].sum()
        ),
    )


def predicted_gain(recorded: RecordedArm, *, budget: int, topk: int) -> PredictedGain:
    """Both sides on the recorded answers, paired by prompt. Exact at temperature 0 but for ties."""
    kept = min(topk, recorded.topk)
    tree = acceptance(recorded.prompts, Grid((topk,), (budget,))).verify_steps[:, 0, 0]
    line = acceptance(recorded.prompts, Grid((1,), (recorded.depth,))).verify_steps[:, 0, 0]
    best = np.array([ceiling_steps(prompt, topk=kept) for prompt in recorded.prompts])
    tokens = np.array([len(prompt.output_ids) - 1 for prompt in recorded.prompts])
    ids = [prompt.prompt_id for prompt in recorded.prompts]
    return PredictedGain(
        ratio=paired_ratio((tokens, tree, ids), (tokens, line, ids)),
        ceiling=paired_ratio((tokens, best, ids), (tokens, line, ids)),
        ceiling_topk=kept,
    )


def _seen(hits: Hits, depth: int) -> bool:
    return bool(hits.positions[:, depth].sum())


def _coverage(hits: Hits, depth: int, asked: Sequence[int]) -> Coverage:
    known = hits.positions[:, depth]
    return Coverage(
        depth=depth + 1,
        positions=int(known.sum()),
        at={
            k: share_interval(hits.by_rank[:, depth, :k].sum(axis=1), known, hits.prompt_ids)
            for k in asked
        },
    )


def _kinds(
    hits: Hits,
) -> tuple[tuple[Literal["first choices", "other candidates"], Floats], ...]:
    return ("first choices", hits.first), ("other candidates", hits.others)


def _calibration(
    of: Literal["first choices", "other candidates"], binned: Floats, prompts: Sequence[str]
) -> Calibration:
    counts, stated, right = (binned[:, :, column] for column in range(3))  # (prompts, BINS)
    excess = stated - right
    by_chance = sqrt(2.0 / pi * len(prompts)) * excess.std(axis=0, ddof=1)  # (BINS,)
    total_right = right.sum(axis=1)
    return Calibration(
        of=of,
        candidates=int(counts.sum()),
        bins=tuple(
            Bin(
                low=place / BINS,
                high=(place + 1) / BINS,
                candidates=int(counts[:, place].sum()),
                stated=float(stated[:, place].sum() / counts[:, place].sum()),
                hits=share_interval(right[:, place], counts[:, place], prompts),
            )
            for place in range(BINS)
            if counts[:, place].sum()
        ),
        error=float(np.abs(excess.sum(axis=0)).sum() / counts.sum()),
        by_chance=float(by_chance.sum() / counts.sum()),
        stated_over_hit=(
            pooled_ratio(stated.sum(axis=1), total_right, prompts) if total_right.sum() else None
        ),
    )
