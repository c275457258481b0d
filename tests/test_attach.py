"""Sweeps over a server that someone else runs: nothing is started, and nothing is stopped."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from ddbench.plan.drafter_files import model_folder
from ddbench.runs.store import RunStore
from ddbench.server.ports import free_port

SAYINGS = ["Tell of Ada and the fox", "JSON: Ben buys 2 lamps", "Python: the total cost"] * 2


@pytest.fixture(scope="module")
def engine_url() -> Iterator[str]:
    """An embedded engine with a linear drafter, on a port of its own."""
    port = free_port("127.0.0.1")
    model = model_folder("builtin")
    argv = [sys.executable, "-m", "ddbench.engine", "--model-path", model, "--port", str(port)]
    argv += ["--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", "builtin"]
    argv += ["--speculative-dflash-block-size", "8", "--enable-metrics"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 60
            while not _answers(url):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.2)
            yield url
        finally:
            process.kill()


def _answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/health_generate", timeout=30).ok
    except requests.RequestException:
        return False


@pytest.fixture
def attach(
    ddbench: Callable[..., subprocess.CompletedProcess[str]], engine_url: str, tmp_path: Path
) -> Callable[..., RunStore]:
    """Run a sweep over the engine; lines of its `load` section as keywords."""

    def run(**load: Any) -> RunStore:
        lines = {"count": 6, "max_new_tokens": 16, **load}
        sweep = tmp_path / "attached.yaml"
        sweep.write_text(
            f"name: attached\nserver: {{engine: attach, base_url: '{engine_url}/'}}\n"
            "arms: [linear: {block_size: 8}]\nrepeats: 1\nload:\n"
            + "".join(f"  {name}: {json.dumps(value)}\n" for name, value in lines.items())
        )
        done = ddbench("sweep", sweep, "--out", tmp_path / "run")
        assert done.returncode == 0, done.stderr
        return RunStore.open(tmp_path / "run")

    return run


def conversations(folder: Path) -> str:
    path = folder / "chats.jsonl"
    said = [{"messages": [{"role": "user", "content": text}]} for text in SAYINGS]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in said))
    return str(path)


def test_an_attached_server_is_measured_and_left_alone(attach: Any, engine_url: str) -> None:
    with attach(concurrency=[2]) as store:
        (result,), (launch,) = list(store.results()), store.launches()

    assert result.failure is None
    assert len(result.completed) == 6
    assert all(request.verify_ct for request in result.completed)
    before, after = result.counters_before, result.counters_after
    steps = sum(request.verify_ct for request in result.completed)
    assert after.spec_verify_calls - before.spec_verify_calls == steps
    assert launch.argv == ()
    assert launch.log_name is None or not (store.folder / launch.log_name).exists()
    assert _answers(engine_url)


def test_an_open_loop_is_stored_with_its_lateness(attach: Any) -> None:
    with attach(rate=[20], arrival="gamma", burstiness=0.5) as store:
        (result,) = list(store.results())

    assert result.failure is None
    assert result.trial.load.rate_per_s == 20
    assert result.trial.load.burstiness == 0.5
    assert min(request.lateness_s for request in result.requests) >= 0
    due = [request.sent_s - request.lateness_s for request in result.requests]
    assert due == sorted(due)
    assert due[-1] > due[0]


def test_two_rates_of_one_run_are_two_rows(
    attach: Any, ddbench: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    with attach(rate=[40, 20], arrival="constant") as store:
        results = list(store.results())

    assert [result.trial.load.rate_per_s for result in results] == [40, 20]
    assert {result.failure for result in results} == {None}
    said = json.loads(ddbench("report", "json", store.folder).stdout)
    assert [(row["rate_per_s"], row["completed"]) for row in said["rows"]] == [(20, 6), (40, 6)]


def test_conversations_are_rendered_as_the_server_would(attach: Any, tmp_path: Path) -> None:
    """The engine renders on its chat route with code of its own: same prompt, same answer."""
    prompts = conversations(tmp_path)
    with attach(prompts=prompts, concurrency=[1]) as store:
        (ours,), (launch,) = list(store.results()), store.launches()
    (tmp_path / "run").rename(tmp_path / "rendered-here")
    with attach(prompts=prompts, concurrency=[1], route="chat") as store:
        (theirs,) = list(store.results())

    assert "chat_template.sha256" in launch.environment.facts
    assert ours.failure is None
    assert theirs.failure is None
    assert [r.prompt_tokens for r in ours.completed] == [r.prompt_tokens for r in theirs.completed]
    assert [r.text for r in ours.completed] == [r.text for r in theirs.completed]


def test_the_completions_route_gives_the_same_tokens(attach: Any) -> None:
    with attach(route="completions", concurrency=[2]) as store:
        (result,) = list(store.results())

    assert result.failure is None
    assert all(request.completion_tokens for request in result.completed)
    assert all(request.verify_ct is None for request in result.completed), "not told here"


def test_a_server_like_vllm_is_measured_by_openais_routes(
    ddbench: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = "sk-not-a-real-key-4712"
    monkeypatch.setenv("CLUSTER_KEY", key)
    script = Path(__file__).parent / "load" / "openai_server.py"
    argv = [sys.executable, str(script), "--key", key]
    sweep = tmp_path / "vllm.yaml"
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            sweep.write_text(
                f"name: vllm\nserver: {{engine: attach, base_url: '{url}'}}\n"
                "arms: [mtp: {algorithm: MTP}]\nrepeats: 1\n"
                "load: {count: 6, concurrency: [2], route: chat, api_key_env: CLUSTER_KEY}\n"
            )
            done = ddbench("sweep", sweep, "--out", tmp_path / "run")
        finally:
            server.kill()

    assert done.returncode == 0, done.stderr
    with RunStore.open(tmp_path / "run") as store:
        (result,) = list(store.results())
    assert result.failure is None
    before, after = result.counters_before, result.counters_after
    assert after.generation_tokens - before.generation_tokens == 6 * 7
    assert after.spec_verify_calls - before.spec_verify_calls == 6 * 3
    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes()
