"""One load over several processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psutil
import pytest
import requests

from ddbench.errors import LoadError, ServerError
from ddbench.load.progress import Progress
from ddbench.load.shards import merged, run_sharded
from ddbench.records import (
    ClientHealth,
    LoadConfig,
    LoadOutcome,
    Prompt,
    RequestCompleted,
    RequestFailed,
)
from ddbench.server.ports import free_port

KILLED = """
import sys
from ddbench.load.shards import run_sharded
from ddbench.records import LoadConfig, Prompt
if __name__ == "__main__":
    prompts = [Prompt(str(n), "silent") for n in range(8)]
    say = lambda progress: print("under way", flush=True)
    load = LoadConfig("test", 8, 4, 8)
    run_sharded(sys.argv[1], prompts, load, on_progress=say, streams_per_process=2)
"""


def prompts_of(count: int) -> list[Prompt]:
    return [Prompt(str(n), str(n)) for n in range(count)]


def test_shards_are_put_on_one_clock_and_into_the_order_of_the_prompts() -> None:
    def outcome(*prompt_ids: str, wall_s: float, cpu_s: float) -> LoadOutcome:
        sent = [RequestFailed(p, 0.5 * n, 0.0, "x") for n, p in enumerate(prompt_ids)]
        return LoadOutcome(tuple(sent), wall_s, ClientHealth(cpu_s, cpu_s / 10, 7, 2, cpu_s))

    whole = merged(
        [
            (100.25, outcome("a", "c", "e", wall_s=3.0, cpu_s=1.0)),
            (100.0, outcome("b", "d", wall_s=2.0, cpu_s=2.0)),
        ]
    )

    assert [request.prompt_id for request in whole.requests] == ["a", "b", "c", "d", "e"]
    assert [request.sent_s for request in whole.requests] == [0.25, 0.0, 0.75, 0.5, 1.25]
    assert whole.wall_s == 3.25
    assert whole.client == ClientHealth(2.0, 0.2, 14, 4, 2.0, processes=2)


def test_processes_share_a_load(start: Callable[..., Any]) -> None:
    told: list[Progress] = []
    with start("scheduled_server.py", "--events", 12, "--gap-ms", 30) as base_url:
        outcome = run_sharded(
            base_url,
            prompts_of(15),
            LoadConfig("test", 15, 5, 12),
            on_progress=told.append,
            streams_per_process=2,
        )
        log = requests.get(f"{base_url}/log", timeout=30).json()

    assert [request.prompt_id for request in outcome.requests] == [str(n) for n in range(15)]
    assert all(isinstance(request, RequestCompleted) for request in outcome.requests)
    assert (outcome.client.processes, outcome.client.connections) == (3, 5)
    assert outcome.client.chunks == 15 * 12
    assert min(request.sent_s for request in outcome.requests) == 0
    spans = [(record["received_at"], record["written_at"][-1]) for record in log]
    in_flight = [sum(begin <= at < end for begin, end in spans) for at, _ in spans]
    assert max(in_flight) == 5, "the processes begin together"
    truth = {record["prompt"]: record["received_at"] for record in log}
    for request in outcome.requests:
        due = truth[request.prompt_id] - min(truth.values())
        assert abs(request.sent_s - due) < 1.0, "on one clock"
    assert told[-1].total == 15
    assert not multiprocessing.active_children(), "none is left"


def test_what_a_process_refuses_is_refused() -> None:
    with pytest.raises(LoadError, match="is not an http or https URL") as caught:
        run_sharded("ftp://x", prompts_of(4), LoadConfig("t", 4, 4, 8), streams_per_process=2)

    assert "http://127.0.0.1:30000" in caught.value.remedy


def test_a_server_that_is_gone_is_its_own_failure_and_not_the_load_s() -> None:
    url = f"http://127.0.0.1:{free_port('127.0.0.1')}"
    load = LoadConfig("t", 4, 4, 8, route="chat")

    with pytest.raises(ServerError, match="no answer from"):
        run_sharded(url, prompts_of(4), load, streams_per_process=2)

    assert not multiprocessing.active_children()


def test_no_process_outlives_a_killed_parent(rude_url: str, tmp_path: Any) -> None:
    script = tmp_path / "load.py"
    script.write_text(KILLED)
    with subprocess.Popen([sys.executable, script, rude_url], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        children = psutil.Process(parent.pid).children(recursive=True)

        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        gone, alive = psutil.wait_procs(children, timeout=20)

    assert len(gone) >= 2
    assert not alive
