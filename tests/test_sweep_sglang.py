"""Whole sweeps on real SGLang, on a CPU: each way to fail is named in its own cell."""

import json
import os
import socket
import threading
import time
from collections import defaultdict
from pathlib import Path

import psutil
import pytest

from ddbench.records import RunResult
from ddbench.runs.store import RunStore

pytestmark = [
    pytest.mark.sglang,
    pytest.mark.timeout(1500),  # a start takes 30 s, and minutes on a busy machine
    pytest.mark.skipif(
        not os.environ.get("DDBENCH_SGLANG_PYTHON"), reason="$DDBENCH_SGLANG_PYTHON is not set"
    ),
]
LOAD = """\
load: {prompts: "builtin:mixed", count: 4, concurrency: [1], max_new_tokens: 16}
repeats: 1
"""


def run_sweep(ddbench, tmp_path: Path, text: str) -> dict[str, list[RunResult]]:
    """The results by arm. A failed cell is exit code 1, and no process may be left."""
    sweep = tmp_path / "sglang.yaml"
    sweep.write_text(text + LOAD)

    done = ddbench("sweep", sweep, "--out", tmp_path / "run", timeout_s=1400)

    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    results = defaultdict(list)
    with RunStore.open(tmp_path / "run") as store:
        for result in store.results():
            results[result.trial.arm].append(result)
    assert done.returncode == any(r.failure for each in results.values() for r in each)
    assert not [p.pid for p in psutil.process_iter() if str(tmp_path) in process_line(p)]
    return results


def process_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def test_cells_that_fail_are_classed_and_the_others_are_done(ddbench, tmp_path):
    results = run_sweep(
        ddbench,
        tmp_path,
        "name: cells\n"
        "server: {engine: sglang, model: builtin, draft_model: builtin}\n"
        "arms:\n"
        "  - unknown-flag: {algorithm: NGRAM, flags: {no-such-flag: 1}}\n"
        "  - small-pool: {algorithm: NGRAM, flags: {max-total-tokens: 8,"
        " speculative-num-draft-tokens: 8}}\n"
        f"  - wrong-drafter: {{algorithm: DFLASH, draft_model: {target_folder()}}}\n"
        "  - linear: {block_size: 8}\n",
    )

    classes = {
        arm: [r.failure.crash_class if r.failure else None for r in each]
        for arm, each in results.items()
    }
    assert classes.pop("wrong-drafter") not in ([None], ["unknown"])
    assert classes == {
        "unknown-flag": ["flag_unknown"],
        "small-pool": ["kv_pool_too_small"],
        "linear-8": [None],
    }
    assert all(r.failure.advice for each in results.values() for r in each if r.failure)
    assert not list((tmp_path / "run").glob("unknown-flag*.log"))  # no server was started


def test_a_model_that_is_not_there_is_named(ddbench, tmp_path):
    results = run_sweep(
        ddbench,
        tmp_path,
        f"name: missing\nserver: {{engine: sglang, model: {tmp_path}/none}}\n"
        "arms: [autoregressive]\n",
    )

    (result,) = results["autoregressive"]
    assert result.failure.crash_class == "model_path_missing"


def test_a_port_taken_after_the_check_is_named(ddbench, tmp_path):
    """Bound while SGLang imports; the server prints its ready line all the same."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    taken = threading.Event()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def take_the_port() -> None:
        while not any(f"--port {port}" in process_line(p) for p in psutil.process_iter()):
            time.sleep(0.2)
        listener.bind(("127.0.0.1", port))
        listener.listen()
        taken.set()

    threading.Thread(target=take_the_port, daemon=True).start()
    with listener:
        results = run_sweep(
            ddbench,
            tmp_path,
            f"name: port\nserver: {{engine: sglang, model: builtin, port: {port}}}\n"
            "arms: [autoregressive]\n",
        )

    assert taken.is_set()
    (result,) = results["autoregressive"]
    assert result.failure.crash_class == "port_in_use_http"
    (log,) = (tmp_path / "run").glob("*.log")
    assert "The server is fired up and ready to roll!" in log.read_text()


def target_folder() -> str:
    from importlib.resources import files

    return json.dumps(str(files("ddbench") / "engine" / "weights" / "target"))
