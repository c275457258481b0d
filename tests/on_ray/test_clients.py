"""A load that two processes send on two nodes, against the same load from one."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import requests

from ddbench.executors.on_ray.board import Board
from ddbench.executors.on_ray.clients import Client, on_one_clock, send_together
from ddbench.executors.on_ray.cluster import connected
from ddbench.load.closed_loop import run_closed_loop
from ddbench.load.prompts import read_prompts
from ddbench.records import LoadConfig
from ddbench.server.ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

RUDE = Path(__file__).parent.parent / "survival" / "rude"
LOAD = LoadConfig("builtin:mixed", count=160, concurrency=64, max_new_tokens=4)


@pytest.fixture
def url() -> Iterator[str]:
    port = free_port("127.0.0.1")
    argv = ["-m", "sglang.launch_server", "--model-path", "no/model"]
    argv += ["--host", "127.0.0.1", "--port", str(port)]
    env = {**os.environ, "PYTHONPATH": str(RUDE), "RUDE": "", "RUDE_STEP_S": "0.05"}
    nowhere = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, *argv], env=env, stdout=nowhere) as process:
        try:
            deadline = time.monotonic() + 60
            while not _answers(port):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _answers(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/health_generate", timeout=5).ok
    except requests.RequestException:
        return False


def test_64_streams_from_two_actors_are_the_load_of_one_process(cluster, url):
    prompts = read_prompts(LOAD.prompts, LOAD.count)
    alone = run_closed_loop(url, prompts, LOAD)
    with connected(cluster.address, ship_code=False) as here:
        hosts = here.hosts()
        board = here.ray.remote(Board).options(**here.on(hosts[0], {})).remote()
        actor = here.ray.remote(Client)
        clients = [
            actor.options(**here.on(host, {})).remote(board, "alpha", n)
            for n, host in enumerate(hosts)
        ]

        board.clear.remote("alpha", 2)
        shards, offsets = send_together(here.ray, clients, url, prompts, LOAD)

        progress = here.ray.get(board.read.remote("alpha"))
    outcome = on_one_clock(shards, offsets)
    assert [r.prompt_id for r in outcome.requests] == [r.prompt_id for r in alone.requests]
    assert [r.completion_tokens for r in outcome.requests] == [
        r.completion_tokens for r in alone.requests
    ]
    assert outcome.client.processes == 2
    assert progress.done == 160
    assert all(abs(offset.offset_s) <= offset.error_s for offset in offsets), "one clock, in truth"
    pooled = [request for _, shard in shards for request in shard.requests]
    for name in ("ttft_s", "e2e_s"):
        merged = [getattr(request, name) for request in outcome.requests]
        raw = [getattr(request, name) for request in pooled]
        assert np.percentile(merged, [50, 90, 99]).tolist() == pytest.approx(
            np.percentile(raw, [50, 90, 99]).tolist()
        )
