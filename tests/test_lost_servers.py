"""A server that is gone when a trial wants to know something of it, before the first request."""

from pathlib import Path

import pytest

from ddbench.executors.executor import LaunchJob
from ddbench.executors.measure import measure
from ddbench.records import (
    LoadConfig,
    Prompt,
    Route,
    RunningServer,
    ServerConfig,
    Speculation,
    Trial,
)
from ddbench.server.ports import free_port

PROMPT = Prompt("a", "", messages=(("user", "Tell of Ada"),))


@pytest.mark.parametrize("route", ["chat", "generate"])
def test_its_trial_fails_and_the_sweep_can_go_on(route: Route, tmp_path: Path) -> None:
    """The chat route asks for the model's name, /generate for the chat template."""
    url = f"http://127.0.0.1:{free_port('127.0.0.1')}"
    server = ServerConfig("attach", "m", None, Speculation(None), 1, base_url=url)
    trial = Trial("plain", server, LoadConfig("x.jsonl", 1, 1, 4, route=route))
    job = LaunchJob(trial, {}, (PROMPT,), tmp_path / "x.log")

    result = measure(trial, job, RunningServer(url, None, None, 0.0), {}, lambda _: None)

    assert result.failure is not None
    assert "no answer from http://127.0.0.1:" in result.failure.evidence
    assert result.requests == ()
