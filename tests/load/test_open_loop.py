"""Arrivals, and requests that do not wait for one another."""

import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import requests

from ddbench.errors import LoadError
from ddbench.load.arrivals import arrival_times
from ddbench.load.run import run_load
from ddbench.records import LoadConfig, LoadOutcome, Prompt, RequestCompleted, RequestFailed

ATTEMPTS = 5


def open_load(count: int, rate_per_s: float, **more: Any) -> LoadConfig:
    return LoadConfig("test", count, 0, max_new_tokens=6, rate_per_s=rate_per_s, **more)


def gaps_of(load: LoadConfig) -> list[float]:
    return [b - a for a, b in pairwise(arrival_times(load, load.count))]


def send(base_url: str, texts: list[str], load: LoadConfig) -> LoadOutcome:
    return run_load(base_url, [Prompt(f"p{n}", text) for n, text in enumerate(texts)], load)


def test_constant_arrivals_are_even() -> None:
    assert arrival_times(open_load(4, 8.0, arrival="constant"), 4) == [0.0, 0.125, 0.25, 0.375]


@pytest.mark.parametrize(
    ("more", "variation"),
    [
        ({"arrival": "poisson"}, 1.0),
        ({"arrival": "gamma", "burstiness": 0.25}, 2.0),
        ({"arrival": "gamma", "burstiness": 4.0}, 0.5),
    ],
    ids=["poisson", "bursts", "evener"],
)
def test_random_gaps_have_the_mean_of_the_rate_and_the_spread_of_their_kind(
    more: dict[str, Any], variation: float
) -> None:
    """Shape k has a coefficient of variation of 1 / sqrt(k); 20,000 gaps, a fixed seed."""
    gaps = gaps_of(open_load(20_001, 5.0, **more))

    mean = statistics.fmean(gaps)
    assert mean == pytest.approx(0.2, rel=0.05)
    assert statistics.pstdev(gaps) / mean == pytest.approx(variation, rel=0.05)
    assert min(gaps) >= 0


def test_arrivals_are_those_of_the_seed() -> None:
    load = open_load(50, 5.0)

    assert gaps_of(load) == gaps_of(load)
    assert gaps_of(load) != gaps_of(open_load(50, 5.0, seed=1))


def test_requests_are_sent_when_due_however_slow_the_server(
    start: Callable[..., Any],
) -> None:
    """Answers take 0.5 s, arrivals come every 0.05 s: a closed loop could not keep up."""
    load = open_load(20, 20.0, arrival="constant")
    with start("scheduled_server.py", "--ttft-ms", 200, "--gap-ms", 60, "--events", 6) as base_url:
        for _ in range(ATTEMPTS):
            outcome = send(base_url, [str(n) for n in range(20)], load)
            log = requests.get(f"{base_url}/log", timeout=30).json()
            received = sorted(record["received_at"] for record in log)
            errors = [abs((at - received[0]) - n * 0.05) for n, at in enumerate(received)]
            if statistics.median(errors) < 0.005:
                break
        else:
            pytest.fail(f"arrivals are {errors} s off")

    assert all(isinstance(request, RequestCompleted) for request in outcome.requests)
    assert outcome.requests[0].sent_s == 0
    in_flight = sum(request.e2e_s for request in outcome.requests) / outcome.wall_s
    assert in_flight > 5
    lateness = [request.lateness_s for request in outcome.requests]
    assert min(lateness) >= 0
    assert statistics.median(lateness) < 0.01, "connections are there before they are needed"


def test_connections_are_used_again(rude_url: str) -> None:
    outcome = send(rude_url, ["healthy"] * 90, open_load(90, 90.0))

    assert all(isinstance(request, RequestCompleted) for request in outcome.requests)
    assert outcome.client.connections is not None
    assert outcome.client.connections < 90
    assert outcome.client.connect_max_s is not None


def test_a_bad_answer_spoils_no_other(rude_url: str) -> None:
    texts = ["healthy", "hang-up", "reset-midway", "closes-politely", "http-500", "healthy"] * 3

    outcome = send(rude_url, texts, open_load(18, 100.0))

    kinds = [type(request) is RequestCompleted for request in outcome.requests]
    assert kinds == [True, False, False, True, False, True] * 3


def test_a_server_that_dies_ends_the_load_early(start: Callable[..., Any]) -> None:
    began_at = time.monotonic()
    with start("rude_server.py") as base_url:
        outcome = send(base_url, ["healthy", "die", *["healthy"] * 600], open_load(602, 10.0))

    assert isinstance(outcome.requests[0], RequestCompleted)
    last = outcome.requests[-1]
    assert isinstance(last, RequestFailed)
    assert last.reason.startswith("not sent: no connection: Connection refused, 3 times")
    assert time.monotonic() - began_at < 45  # 600 more at 10 a second would take 60


def test_an_open_loop_without_a_rate_is_refused(rude_url: str) -> None:
    with pytest.raises(LoadError, match="0 requests a second are no load"):
        send(rude_url, ["healthy"], open_load(1, 0))
