"""The mean accept len of a log whose lines do not say how many request-steps they hold."""

from itertools import product

import pytest

from ddbench.checks.evidence import Evidence
from ddbench.checks.weighted_means import mean_accept_len


@pytest.mark.parametrize(
    "lines",
    [
        [(3.0, 4), (3.0, 4)],
        [(2.0, 1), (6.0, 8), (3.0, 2), (5.0, 8), (1.5, 4)],
        [(6.0, 8), (1.0, 1), (6.0, 8), (1.0, 1)],
    ],
)
def test_is_bracketed_by_the_best_and_the_worst_weights(window, lines):
    log = Evidence(
        "log",
        windows=tuple(window(accept_len_logged=a, running_requests=r) for a, r in lines),
    )
    running = [lines[0][1], *(r for _, r in lines)]
    corners = product(*[{running[i], running[i + 1]} for i in range(len(lines))])
    means = [
        sum(w * a for w, (a, _) in zip(weights, lines, strict=True)) / sum(weights)
        for weights in corners
    ]

    mean = mean_accept_len(log)

    assert mean.low == pytest.approx(min(means))
    assert mean.high == pytest.approx(max(means))


def test_counts_steps_where_the_interval_is_known(window):
    log = Evidence("log", windows=(window(), window()), settings={"decode_log_interval": "40"})

    assert mean_accept_len(log).steps == 2 * 40 * 4
