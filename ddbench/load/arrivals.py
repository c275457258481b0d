"""When the requests of an open loop are due. Pure: seeded, no clock."""

import numpy as np

from ddbench.records import LoadConfig


def arrival_times(load: LoadConfig, count: int) -> list[float]:
    """Seconds from the first request to each, ascending; the same in every arm and repeat.

    `constant` spaces them evenly. `gamma` draws the gaps from a gamma distribution of shape
    `burstiness`; `poisson` is its shape 1. The mean gap is 1 / rate in each.
    """
    assert load.rate_per_s is not None
    mean_gap_s = 1.0 / load.rate_per_s
    if load.arrival == "constant":
        return [n * mean_gap_s for n in range(count)]
    shape = load.burstiness if load.arrival == "gamma" else 1.0
    gaps_s = np.random.default_rng(load.seed).gamma(shape, mean_gap_s / shape, size=count - 1)
    return [0.0, *(float(at) for at in np.cumsum(gaps_s))]
