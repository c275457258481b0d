"""A process that writes results until something stops it. Prints a line a stored result.

python writer.py FOLDER [--file-limit BYTES] [--requests N]
"""

import argparse
import resource
from itertools import count
from pathlib import Path

from ddbench.errors import DdbenchError
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
    SweepPlan,
    Trial,
)
from ddbench.runs.store import RunStore

SERVER = ServerConfig("embedded", "builtin", "builtin", Speculation("DFLASH", 8), 8)
LOAD = LoadConfig("builtin:mixed", 48, 4, 64)


def result(number: int, requests: int) -> RunResult:
    request = RequestCompleted(
        prompt_id="code-1",
        sent_s=0.0,
        lateness_s=0.0,
        ttft_s=0.01,
        e2e_s=1.0,
        prompt_tokens=20,
        completion_tokens=64,
        output_ids=tuple(range(64)),
        output_logprobs=None,
        finish_reason="length",
        retractions=0,
        cached_tokens=0,
        verify_ct=21,
        correct_drafts=42,
        committed_drafts=42,
        histogram=(0, 0, 21),
        chunk_offsets_s=tuple(step * 0.03 for step in range(21)),
    )
    return RunResult(
        key=f"trial-{number}",
        trial=Trial("linear-8", SERVER, LOAD, repeat=number),
        started_at="2026-01-01T00:00:00+00:00",
        requests=(request,) * requests,
        wall_s=1.0,
        client=ClientHealth(0.1, 0.001, 1000),
        log=LogExcerpt(),
        counters_before=Counters(),
        counters_after=Counters(),
        failure=None,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--file-limit", type=int)
    parser.add_argument("--requests", type=int, default=400)
    options = parser.parse_args()
    plan = SweepPlan("endless", "name: endless\n", (), (), (), 1, 1)
    if options.file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.file_limit, options.file_limit))
    with RunStore.create(options.folder, plan) as store:
        launch_id = store.add_launch(Launch(SERVER, ("x",), None, 1.0, Environment({}, {}), None))
        for number in count():
            try:
                store.add_result(launch_id, result(number, options.requests))
            except DdbenchError as error:
                print(f"error: {error} | {error.remedy}", flush=True)
                break
            print(number, flush=True)
    with RunStore.open(options.folder) as store:
        whole = [len(r.requests) == options.requests for r in store.results()]
        print(f"kept: {len(whole)} whole: {all(whole)}", flush=True)


main()
