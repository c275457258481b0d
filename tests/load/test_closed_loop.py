"""The loop itself: order, concurrency, deadlines, and servers that go away."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import requests

from ddbench.errors import LoadError
from ddbench.load.closed_loop import run_closed_loop
from ddbench.load.progress import Progress
from ddbench.records import LoadConfig, Prompt, RequestCompleted, RequestFailed

INTERRUPTED = """
import sys
from ddbench.load.closed_loop import run_closed_loop
from ddbench.records import LoadConfig, Prompt
import signal
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
prompts = [Prompt(str(n), "silent") for n in range(8)]
def say(progress):
    print("under way", flush=True)
try:
    run_closed_loop(sys.argv[1], prompts, LoadConfig("test", 8, 4, 8), on_progress=say)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_outcomes_stand_in_the_order_of_the_prompts(rude_url: str, ask: Any) -> None:
    outcome = ask(rude_url, "trickle", "healthy", "http-500", "healthy", concurrency=4)

    assert [request.prompt_id for request in outcome.requests] == ["p0", "p1", "p2", "p3"]
    assert [type(request) for request in outcome.requests] == [
        RequestCompleted,
        RequestCompleted,
        RequestFailed,
        RequestCompleted,
    ]


def test_as_many_requests_as_asked_are_in_flight(start: Callable[..., Any], ask: Any) -> None:
    options = ("--ttft-ms", 20, "--gap-ms", 5, "--events", 8)
    with start("scheduled_server.py", *options) as base_url:
        outcome = ask(base_url, *map(str, range(12)), concurrency=3)
        log = requests.get(f"{base_url}/log", timeout=30).json()

    spans = [(record["received_at"], record["written_at"][-1]) for record in log]
    in_flight = [sum(begin <= at < end for begin, end in spans) for at, _ in spans]
    assert len(log) == 12
    assert max(in_flight) == 3
    assert outcome.client.connections == 3, "a connection is used again"
    assert 1.5 < sum(r.e2e_s for r in outcome.requests) / outcome.wall_s <= 3


def test_times_count_from_the_first_send(rude_url: str, ask: Any) -> None:
    outcome = ask(rude_url, *["healthy"] * 6)

    assert outcome.requests[0].sent_s == 0
    for earlier, later in pairwise(outcome.requests):
        gap_s = later.sent_s - (earlier.sent_s + earlier.e2e_s)
        assert 0 <= later.lateness_s <= gap_s, "late is what the client adds after the last byte"
    last = outcome.requests[-1]
    assert last.sent_s + last.e2e_s <= outcome.wall_s < last.sent_s + last.e2e_s + 5


def test_first_sends_are_a_little_apart_and_not_late_for_it(rude_url: str, ask: Any) -> None:
    outcome = ask(rude_url, *["trickle"] * 8, concurrency=8)

    due = sorted(request.sent_s - request.lateness_s for request in outcome.requests)
    assert [b - a for a, b in pairwise(due)] == pytest.approx([0.001] * 7)
    assert min(request.lateness_s for request in outcome.requests) >= 0
    assert max(request.sent_s for request in outcome.requests) >= 0.006


def test_a_connection_the_server_closed_is_opened_again(rude_url: str, ask: Any) -> None:
    outcome = ask(rude_url, "closes-politely", "until-close", "healthy")

    assert all(isinstance(request, RequestCompleted) for request in outcome.requests)
    assert outcome.client.connections == 3
    assert outcome.client.connect_max_s is not None


def test_a_silent_server_costs_a_deadline_and_no_more(rude_url: str, ask: Any) -> None:
    began_at = time.monotonic()

    outcome = ask(rude_url, "silent", "hang-midway", "healthy", timeout_s=1.0)

    silent, midway, healthy = outcome.requests
    assert silent.reason == "no answer within 1 s"
    assert midway.reason == "no end of the answer within 1 s after 3 events"
    assert isinstance(healthy, RequestCompleted)
    assert time.monotonic() - began_at < 30


def test_a_server_that_never_answers_is_given_up(rude_url: str, ask: Any) -> None:
    outcome = ask(rude_url, *["silent"] * 50, concurrency=2, timeout_s=0.1)

    reasons = [request.reason for request in outcome.requests]
    assert reasons[:6] == ["no answer within 0.1 s"] * 6
    assert reasons[-1] == "not sent: 6 requests in a row were not answered in time"
    assert outcome.wall_s < 30


def test_a_slow_trickle_is_an_answer(rude_url: str, ask: Any) -> None:
    (request,) = ask(rude_url, "trickle").requests

    assert isinstance(request, RequestCompleted)
    assert request.e2e_s > 0.1


def test_a_server_that_dies_fails_the_rest_at_once(start: Callable[..., Any], ask: Any) -> None:
    began_at = time.monotonic()
    with start("rude_server.py") as base_url:
        outcome = ask(base_url, *["healthy"] * 4, "die", *["trickle"] * 200, concurrency=2)

    completed = [r for r in outcome.requests if isinstance(r, RequestCompleted)]
    failed = [r for r in outcome.requests if isinstance(r, RequestFailed)]
    assert len(completed) == 4
    assert "in the middle of the answer after 3 events" in outcome.requests[4].reason
    assert failed[-1].reason.startswith("not sent: no connection: Connection refused, ")
    assert time.monotonic() - began_at < 60


def test_nobody_listens(ask: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        outcome = ask(f"http://127.0.0.1:{unused.getsockname()[1]}", *["healthy"] * 9)

    assert outcome.requests[0].reason == "not sent: no connection: Connection refused"
    assert {type(request) for request in outcome.requests} == {RequestFailed}
    assert outcome.wall_s == 0
    assert outcome.client.connections == 0


def test_a_worker_without_a_connection_leaves_the_prompts_to_the_others(
    start: Callable[..., Any], ask: Any
) -> None:
    with start("rude_server.py") as base_url:
        outcome = ask(base_url, "shut-the-door", "trickle", *["healthy"] * 40, concurrency=2)

    assert [type(request) for request in outcome.requests].count(RequestFailed) == 4
    assert isinstance(outcome.requests[-1], RequestCompleted)


def test_progress_is_told_at_most_four_times_a_second(rude_url: str) -> None:
    told: list[Progress] = []
    prompts = [Prompt(str(n), "trickle") for n in range(4)] + [Prompt("x", "http-500")]
    began_at = time.monotonic()

    run_closed_loop(
        rude_url,
        prompts,
        LoadConfig("test", 5, 1, 8),
        on_progress=told.append,
    )

    *running, last = told
    assert (last.done, last.failed, last.total, last.tokens) == (5, 1, 5, 24)
    assert 2 <= len(running) <= 4 * (time.monotonic() - began_at)
    assert [p.done for p in told] == sorted(p.done for p in told)


def test_the_client_tells_what_it_cost(rude_url: str, ask: Any) -> None:
    client = ask(rude_url, *["healthy"] * 20, concurrency=4).client

    assert client.chunks == 120
    assert 0 < client.cpu_s < 2
    assert 0 <= client.loop_lag_max_s < 2


def test_a_bug_in_a_callback_ends_the_load(rude_url: str) -> None:
    def wrong(_: Progress) -> None:
        raise ZeroDivisionError("a bug")

    began_at = time.monotonic()
    with pytest.raises(ZeroDivisionError, match="a bug"):
        run_closed_loop(
            rude_url, [Prompt("p", "silent")], LoadConfig("test", 1, 1, 8), on_progress=wrong
        )
    assert time.monotonic() - began_at < 60


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_promptly(number: int, code: int, rude_url: str) -> None:
    argv = [sys.executable, "-X", "dev", "-W", "error", "-c", INTERRUPTED, rude_url]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        began_at = time.monotonic()

        os.kill(process.pid, number)
        _, complaints = process.communicate(timeout=30)

    assert process.returncode == code
    assert time.monotonic() - began_at < 20
    assert b"Warning" not in complaints, complaints.decode()


@pytest.mark.parametrize("url", ["127.0.0.1:30000", "ftp://host:1", "http://", "http://h:a"])
def test_a_wrong_base_url_is_refused(url: str, ask: Any) -> None:
    with pytest.raises(LoadError, match="URL") as caught:
        ask(url, "healthy")

    assert caught.value.remedy.endswith(".")


def test_an_unknown_host_is_refused(ask: Any) -> None:
    with pytest.raises(LoadError, match="is unknown"):
        ask("http://no-such-host.invalid:1", "healthy")


def test_an_empty_load_is_refused(rude_url: str, ask: Any) -> None:
    with pytest.raises(LoadError, match="no load"):
        ask(rude_url)
