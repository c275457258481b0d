"""The table of a sweep under way, as text."""

import io

from rich.console import Console

from ddbench.cli.live_table import LiveTable
from ddbench.records import (
    Counters,
    LoadConfig,
    LogExcerpt,
    RequestCompleted,
    RunResult,
    ServerConfig,
    Speculation,
    Trial,
)

SERVER = ServerConfig("embedded", "builtin", None, Speculation(), max_running_requests=8)
ANSWER = RequestCompleted(
    prompt_id="p",
    sent_s=0.0,
    lateness_s=0.0,
    ttft_s=0.1,
    e2e_s=1.0,
    prompt_tokens=5,
    completion_tokens=60,
    output_ids=None,
    output_logprobs=None,
    finish_reason="length",
    retractions=0,
    cached_tokens=0,
    verify_ct=None,
    correct_drafts=None,
    committed_drafts=None,
    histogram=None,
)


def trial(rate_per_s: float, repeat: int = 0) -> Trial:
    load = LoadConfig("builtin:mixed", 6, 0, 64, rate_per_s=rate_per_s)
    return Trial("autoregressive", SERVER, load, repeat)


def result(of: Trial, wall_s: float) -> RunResult:
    return RunResult(
        key="k",
        trial=of,
        started_at="2026-01-01T00:00:00+00:00",
        requests=(ANSWER,),
        wall_s=wall_s,
        client=None,
        log=LogExcerpt(),
        counters_before=Counters(),
        counters_after=Counters(),
        failure=None,
    )


def test_every_rate_has_a_column_of_its_own() -> None:
    table = LiveTable()
    table.ask([trial(2.5), trial(8.0), trial(8.0, repeat=1)])

    table.take(result(trial(2.5), wall_s=2.0))
    table.take(result(trial(8.0), wall_s=0.5))

    stream = io.StringIO()
    Console(file=stream, width=80).print(table.render())
    header, row = stream.getvalue().splitlines()
    assert header.split() == ["tok/s", "poisson", "2.5/s", "poisson", "8/s"]
    assert row.split() == ["autoregressive", "30", "120", "1/2"]
