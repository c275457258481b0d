"""Results typed by hand, of one small trial."""

from collections.abc import Callable
from typing import Any

import pytest

from ddbench.records import (
    ClientHealth,
    Counters,
    Environment,
    Failure,
    Launch,
    LoadConfig,
    LogExcerpt,
    RequestCompleted,
    RequestFailed,
    RequestOutcome,
    RunResult,
    ServerConfig,
    Speculation,
    SweepPlan,
    Trial,
)

TREE = Speculation("DDTREE", block_size=8, budget=31, topk=4)
SERVER = ServerConfig("embedded", "builtin", "builtin", TREE, max_running_requests=8)
REQUESTS: tuple[RequestOutcome, ...] = (
    RequestCompleted(
        prompt_id="code-1",
        sent_s=0.0,
        lateness_s=0.0001,
        ttft_s=0.02,
        e2e_s=0.3,
        prompt_tokens=12,
        completion_tokens=5,
        output_ids=(9, 8, 7, 6, 5),
        output_logprobs=(-0.1, float("-inf"), -0.3, -0.4, -0.5),
        finish_reason="stop",
        retractions=0,
        cached_tokens=0,
        verify_ct=2,
        correct_drafts=3,
        committed_drafts=2,
        histogram=(0, 1, 1),
        chunk_offsets_s=(0.02, 0.1, 0.3),
        text='say "a|b"\n\0',
    ),
    RequestFailed("json-2", 0.1, 0.0, "the connection was reset", http_status=None),
)


@pytest.fixture
def plan() -> SweepPlan:
    return SweepPlan("quickstart", "# Does it?\r\nname: quickstart\n", (), (SERVER,), (), 1, 1)


@pytest.fixture
def launch() -> Launch:
    return Launch(SERVER, ("python", "-m"), "a.log", 1.5, Environment({"cpu": "x"}, {}), None)


@pytest.fixture
def make_result() -> Callable[..., RunResult]:
    def make(key: str = "k", *, failure: Failure | None = None, **trial: Any) -> RunResult:
        return RunResult(
            key=key,
            trial=Trial("tree-8-31-4", SERVER, LoadConfig("builtin:mixed", 2, 2, 64), **trial),
            started_at="2026-01-01T00:00:00+00:00",
            requests=REQUESTS,
            wall_s=0.4,
            client=ClientHealth(0.01, 0.001, 3),
            log=LogExcerpt(),
            counters_before=Counters(),
            counters_after=Counters(spec_verify_calls=2.0),
            failure=failure,
        )

    return make
