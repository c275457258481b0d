"""How often the intervals hold the truth, at the smallest sample that gets one.

5,000 simulated experiments a case. The docstrings of ddbench.stats.ratio and .mean print what
10,000 gave. Seeds are fixed; each bound is at least 3.5 standard errors from that, so that with a
fresh seed a case fails by chance less than once in 2,000 runs.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator

from ddbench.stats import mean, ratio
from ddbench.stats.interval import Interval

EXPERIMENTS = 5_000
Experiment = Callable[[Generator], Interval]

PROMPTS = [f"p{number}" for number in range(ratio.MIN_CLUSTERS)]
MEAN_PROMPTS = [f"p{number}" for number in range(mean.MIN_CLUSTERS)]


def coverage(experiment: Experiment, truth: float) -> float:
    rng = np.random.default_rng(7)
    intervals = [experiment(rng) for _ in range(EXPERIMENTS)]

    assert all(interval.low is not None for interval in intervals)
    return sum(truth in interval for interval in intervals) / EXPERIMENTS


def mild_tokens_per_step(rng: Generator) -> Interval:
    steps = rng.integers(10, 26, len(PROMPTS)).astype(float)
    return ratio.pooled_ratio(steps * rng.normal(3.0, 0.5, len(PROMPTS)), steps, PROMPTS)


def heavy_tailed_tokens_per_step(rng: Generator) -> Interval:
    steps = rng.lognormal(0.0, 1.0, len(PROMPTS))
    return ratio.pooled_ratio(steps * rng.lognormal(0.0, 0.3, len(PROMPTS)), steps, PROMPTS)


def unrelated_heavy_tails(rng: Generator) -> Interval:
    above, below = rng.lognormal(0.0, 1.0, (2, len(PROMPTS)))
    return ratio.pooled_ratio(above, below, PROMPTS)


def heavy_tailed_speedup(rng: Generator) -> Interval:
    length = rng.lognormal(0.0, 1.0, len(PROMPTS))
    fast_s, slow_s = length * rng.lognormal(0.0, 0.1, (2, len(PROMPTS)))
    return ratio.paired_ratio((length, fast_s / 1.25, PROMPTS), (length, slow_s, PROMPTS))


def mild_mean(rng: Generator) -> Interval:
    return mean.clustered_mean(rng.gamma(25.0, 0.04, len(MEAN_PROMPTS)), MEAN_PROMPTS)


def heavy_tailed_mean(rng: Generator) -> Interval:
    return mean.clustered_mean(rng.lognormal(0.0, 1.0, len(MEAN_PROMPTS)), MEAN_PROMPTS)


def two_repeats(rng: Generator) -> Interval:
    return mean.mean_interval(rng.normal(300.0, 5.0, 2))


@pytest.mark.parametrize(
    ("experiment", "truth", "least"),
    [
        (mild_tokens_per_step, 3.0, 0.935),
        (heavy_tailed_tokens_per_step, float(np.exp(0.045)), 0.905),
        (unrelated_heavy_tails, 1.0, 0.925),
        (heavy_tailed_speedup, 1.25, 0.915),
        (mild_mean, 1.0, 0.935),
        (heavy_tailed_mean, float(np.exp(0.5)), 0.90),
        (two_repeats, 300.0, 0.94),
    ],
)
def test_a_95_percent_interval_covers_nearly_as_often_as_it_claims(
    experiment: Experiment, truth: float, least: float
) -> None:
    assert least <= coverage(experiment, truth) <= 0.965


def test_repeats_of_a_prompt_do_not_make_an_interval_narrower() -> None:
    """Counting each of 20 identical repeats as new would cut the width to a quarter."""
    rng = np.random.default_rng(3)
    steps = rng.integers(10, 26, len(PROMPTS)).astype(float)
    tokens = steps * rng.normal(3.0, 0.5, len(PROMPTS))

    once = ratio.pooled_ratio(tokens, steps, PROMPTS)
    often = ratio.pooled_ratio(np.tile(tokens, 20), np.tile(steps, 20), PROMPTS * 20)

    assert often.n == once.n == len(PROMPTS)
    assert (often.low, often.high) == pytest.approx((once.low, once.high))
