"""A small sweep typed by hand: times follow from the arm, so that ratios are known."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ddbench.checks.run import Report as Checked
from ddbench.records import (
    ClientHealth,
    Counters,
    Environment,
    Launch,
    LoadConfig,
    LogExcerpt,
    RequestCompleted,
    RunResult,
    ServerConfig,
    Speculation,
    Trial,
)
from ddbench.report.assemble import assemble
from ddbench.report.content import Report

ARMS = {
    "autoregressive": Speculation(),
    "linear-8": Speculation("DFLASH", 8),
    "tree-8-31-4": Speculation("DDTREE", 8, 31, 4),
}
STEP_S = 0.01
TOKENS = 61  # the first from the prefill, 60 from steps
STEPS = {"autoregressive": 60, "linear-8": 20, "tree-8-31-4": 15}


def server(arm: str) -> ServerConfig:
    speculation = ARMS[arm]
    draft = None if speculation.algorithm is None else "builtin"
    return ServerConfig("embedded", "builtin", draft, speculation, max_running_requests=8)


def completed(arm: str, number: int, sent_s: float = 0.0) -> RequestCompleted:
    """One answer of 61 tokens; prompts differ by up to 20 % in steps, alike in every arm."""
    factor = 1.0 + 0.05 * (number % 5 - 2)
    steps = round(STEPS[arm] * factor)
    drafted = ARMS[arm].algorithm is not None
    return RequestCompleted(
        prompt_id=f"code-{number}",
        sent_s=sent_s,
        lateness_s=0.0,
        ttft_s=0.02,
        e2e_s=0.02 + STEP_S * steps,
        prompt_tokens=20,
        completion_tokens=TOKENS,
        output_ids=None,
        output_logprobs=None,
        finish_reason="length",
        retractions=0,
        cached_tokens=0,
        verify_ct=steps if drafted else None,
        correct_drafts=60 - steps if drafted else None,
        committed_drafts=60 - steps if drafted else None,
        histogram=None,
    )


@pytest.fixture
def make_result() -> Callable[..., RunResult]:
    """A trial at concurrency 1: one request after the other; options replace its fields.

    With a rate its load is an open loop.
    """

    def make(
        arm: str = "linear-8",
        *,
        concurrency: int = 1,
        repeat: int = 0,
        visit: int = 0,
        prompts: int = 48,
        rate_per_s: float | None = None,
        **changes: Any,
    ) -> RunResult:
        if rate_per_s is not None:
            concurrency = 0
        requests: list[RequestCompleted] = []
        at_s = 0.0
        for number in range(prompts):
            requests.append(completed(arm, number, at_s))
            at_s += requests[-1].e2e_s
        result = RunResult(
            key=f"{arm} {concurrency} {rate_per_s} {repeat} {visit}",
            trial=Trial(
                arm,
                server(arm),
                LoadConfig("builtin:mixed", prompts, concurrency, 64, rate_per_s=rate_per_s),
                repeat,
                visit,
            ),
            started_at="2026-01-01T00:00:00+00:00",
            requests=tuple(requests),
            wall_s=at_s * (1.0 + 0.01 * repeat),
            client=ClientHealth(0.01, 0.001, 3),
            log=LogExcerpt(),
            counters_before=Counters(),
            counters_after=Counters(),
            failure=None,
        )
        return replace(result, **changes)

    return make


@pytest.fixture
def report() -> Callable[..., Report]:
    """The report of launches and results that no rule has looked at."""

    def make(name: str, launches: list[Launch], results: list[RunResult], **options: Any) -> Report:
        return assemble(name, launches, results, checked=Checked((), ()), **options)

    return make


@pytest.fixture
def sweep(make_result: Callable[..., RunResult]) -> list[RunResult]:
    """Three arms, concurrency 1 and 8, two repeats."""
    return [
        make_result(arm, concurrency=concurrency, repeat=repeat)
        for arm in ARMS
        for repeat in (0, 1)
        for concurrency in (1, 8)
    ]


@pytest.fixture
def launches() -> list[Launch]:
    environment = Environment({"cpu": "AMD | EPYC"}, {"gpu": "no nvidia-smi"})
    return [
        Launch(server(arm), ("python", "-m", "x"), f"{arm}-1.log", 1.0, environment, None)
        for arm in ARMS
    ]
