"""How often the intervals hold the truth, at the smallest sample that gets one.

The docstring of ddbench.stats.jackknife prints what 10,000 simulated experiments a case gave; here
3,000 run. Seeds are fixed; the bounds are at least 3 standard errors (0.004) from what was
measured, so that with a fresh seed a case fails by chance less than once in 700 runs.
"""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from ddbench.stats.interval import Interval
from ddbench.stats.jackknife import MIN_CLUSTERS
from ddbench.stats.mean import clustered_mean, mean_interval
from ddbench.stats.ratio import paired_ratio, pooled_ratio

EXPERIMENTS = 3_000
N = MIN_CLUSTERS
PROMPTS = [f"p{number}" for number in range(N)]
Experiment = Callable[[Generator], Interval]
Numbers = NDArray[np.float64]


def coverage(experiment: Experiment, truth: float, experiments: int = EXPERIMENTS) -> float:
    rng = np.random.default_rng(7)
    intervals = [experiment(rng) for _ in range(experiments)]

    assert all(interval.low is not None for interval in intervals)
    return sum(truth in interval for interval in intervals) / experiments


def normal_ratio(rng: Generator) -> Interval:
    steps = rng.integers(10, 26, N).astype(float)
    return pooled_ratio(steps * rng.normal(3.0, 0.5, N), steps, PROMPTS)


def heavy_tailed_lengths(rng: Generator) -> Interval:
    steps = rng.lognormal(0.0, 1.0, N)
    return pooled_ratio(steps * rng.lognormal(0.0, 0.3, N), steps, PROMPTS)


def unrelated_heavy_tails(rng: Generator) -> Interval:
    above, below = rng.lognormal(0.0, 1.0, (2, N))
    return pooled_ratio(above, below, PROMPTS)


def heavy_tailed_speedup(rng: Generator) -> Interval:
    length = rng.lognormal(0.0, 1.0, N)
    fast_s, slow_s = length * rng.lognormal(0.0, 0.1, (2, N))
    return paired_ratio((length, fast_s / 1.25, PROMPTS), (length, slow_s, PROMPTS))


def mild_mean(rng: Generator) -> Interval:
    return clustered_mean(rng.gamma(25.0, 0.04, N), PROMPTS)


def heavy_tailed_mean(rng: Generator) -> Interval:
    return clustered_mean(rng.lognormal(0.0, 1.0, N), PROMPTS)


def two_repeats(rng: Generator) -> Interval:
    return mean_interval(rng.normal(300.0, 5.0, 2))


SIMULATED = [
    (normal_ratio, 3.0),
    (heavy_tailed_lengths, float(np.exp(0.045))),
    (unrelated_heavy_tails, 1.0),
    (heavy_tailed_speedup, 1.25),
    (mild_mean, 1.0),
    (heavy_tailed_mean, float(np.exp(0.5))),
    (two_repeats, 300.0),
]


@pytest.mark.parametrize(("experiment", "truth"), SIMULATED)
def test_a_95_percent_interval_covers_as_often_as_it_claims(
    experiment: Experiment, truth: float
) -> None:
    assert 0.915 <= coverage(experiment, truth) <= 0.975


def measured() -> dict[str, Numbers]:
    """Sums over two repeats at concurrency 4, of 48 prompts on the embedded engine.

    A few hard prompts hold most of the steps, which is what makes small samples unsafe.
    """
    with (Path(__file__).parent / "measured_prompts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        name: np.array([float(row[name]) for row in rows])
        for name in rows[0]
        if name != "prompt_id"
    }


MEASURED = measured()


def tokens_per_step(arm: str, picks: NDArray[np.int64], labels: list[str]) -> Interval:
    tokens, steps = MEASURED["tokens"] - 2.0, MEASURED[f"{arm}_steps"]
    return pooled_ratio(tokens[picks], steps[picks], labels)


def rate_over(arm: str, reference: str, picks: NDArray[np.int64], labels: list[str]) -> Interval:
    tokens = MEASURED["tokens"][picks]
    own_s, other_s = (MEASURED[f"{name}_s"][picks] for name in (arm, reference))
    return paired_ratio((tokens, own_s, labels), (tokens, other_s, labels))


RESAMPLED: dict[str, Callable[[NDArray[np.int64], list[str]], Interval]] = {
    "linear tokens/step": lambda *sample: tokens_per_step("linear", *sample),
    "tree tokens/step": lambda *sample: tokens_per_step("tree", *sample),
    "tree over linear": lambda *sample: rate_over("tree", "linear", *sample),
    "tree over autoregressive": lambda *sample: rate_over("tree", "autoregressive", *sample),
    "time per token": lambda picks, labels: clustered_mean(
        (MEASURED["tree_s"] / MEASURED["tokens"])[picks], labels
    ),
}


@pytest.mark.parametrize("quantity", RESAMPLED)
def test_covers_on_resamples_of_a_measured_run(quantity: str) -> None:
    everything = np.arange(MEASURED["tokens"].size)
    statistic = RESAMPLED[quantity]
    truth = statistic(everything, [str(number) for number in everything]).value

    found = coverage(lambda rng: statistic(rng.choice(everything, N), PROMPTS), truth)

    assert 0.93 <= found <= 0.97


def test_repeats_of_a_prompt_do_not_make_an_interval_narrower() -> None:
    """Counting each of 20 identical repeats as new would cut the width to a quarter."""
    rng = np.random.default_rng(3)
    steps = rng.integers(10, 26, N).astype(float)
    tokens = steps * rng.normal(3.0, 0.5, N)

    once = pooled_ratio(tokens, steps, PROMPTS)
    often = pooled_ratio(np.tile(tokens, 20), np.tile(steps, 20), PROMPTS * 20)

    assert often.n == once.n == N
    assert (often.low, often.high) == pytest.approx((once.low, once.high))
