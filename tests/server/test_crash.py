"""Logs and responses of failed servers, and the class that each must get."""

import json
import re
from pathlib import Path

import pytest

from ddbench.errors import PortInUse, ServerError, ServerExitedEarly, ServerNotReady
from ddbench.server.crash import classify
from ddbench.server.crash_table import LEVELS, crash_classes

CRASHES = Path(__file__).parent.parent / "fixtures" / "crashes"
TYPED = sorted((CRASHES / "typed").glob("*.log"))
HEALTHY_LINES = (
    "[2026-11-30 03:07:42] The server is fired up and ready to roll!\n"
    '[2026-11-30 03:07:44] INFO:     127.0.0.1:45370 - "POST /generate HTTP/1.1" 200 OK\n'
)


def read(name):
    return (CRASHES / "typed" / f"{name}.log").read_text()


@pytest.mark.parametrize("path", TYPED, ids=lambda path: path.stem)
def test_names_the_first_cause_of(path):
    expected = path.read_text().splitlines()[0].removeprefix("# ")

    failure = classify(path)

    assert failure.crash_class == expected
    assert failure.advice.endswith(".")


CAPTURED = {
    "algorithm-invalid": "algorithm_invalid",
    "drafter-is-a-target": "drafter_wrong_kind",
    "drafter-path-missing": "model_path_missing",
    "drafter-wrong-layers": "dflash_layer_range",
    "flag-unknown": "flag_unknown",
    "kv-pool-too-small": "kv_pool_too_small",
    "model-path-missing": "model_path_missing",
    "port-taken": "port_in_use_http",
}


@pytest.mark.parametrize("case", CAPTURED)
def test_names_what_happened_to_a_real_sglang(case):
    log = CRASHES / f"sglang-0.5.23-{case}.log"
    answers = log.with_suffix(".response.json")
    responses = [
        f"{answer['status']}: {answer['body']}"
        for answer in (json.loads(answers.read_text()) if answers.exists() else ())
        if answer["status"] != 200
    ]

    failure = classify(log, responses=responses)

    assert failure.crash_class == CAPTURED[case]


def test_the_evidence_is_the_line_that_says_so():
    failure = classify(read("bind_failure_then_ready_line"))

    assert failure.evidence == (
        "[2026-11-30 03:02:44] ERROR:    [Errno 98] error while attempting to bind on address "
        "('127.0.0.1', 31001): address already in use"
    )


def test_the_evidence_of_a_traceback_is_its_exception():
    assert classify(read("zero_division_elsewhere")).evidence == (
        "ZeroDivisionError: division by zero"
    )
    assert classify(read("chained_exceptions")).evidence == "KeyError: 'rope_theta'"


def test_a_hint_about_memory_makes_no_memory_error():
    """SGLang prints it whatever the exit code and whatever the cause of a failed capture."""
    for name in ("segfault_with_oom_hint", "graph_capture_other", "out_of_range_layers"):
        assert classify(read(name)).crash_class not in ("cuda_oom_alloc", "killed")


def test_a_healthy_log_explains_nothing():
    failure = classify(HEALTHY_LINES)

    assert failure.crash_class == "unknown"
    assert "fired up" in failure.evidence


def test_nothing_at_all_is_unknown():
    assert classify(None).crash_class == "unknown"


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (
            "400: Input length (22 tokens) exceeds the maximum allowed length (7 tokens). "
            "Use a shorter input or enable --allow-auto-truncate.",
            "kv_pool_too_small",
        ),
        (
            "500: Out of memory even after retracting all other requests in the decode batch. "
            "Aborting the last request.",
            "kv_pool_exhausted",
        ),
    ],
)
def test_a_server_that_refuses_every_request_is_explained_by_its_answers(response, expected):
    failure = classify(HEALTHY_LINES, responses=[response] * 6)

    assert failure.crash_class == expected
    assert failure.evidence == response
    assert "max-total-tokens" in failure.advice


def test_lost_connections_explain_nothing_and_the_log_is_asked():
    responses = ["ServerDisconnectedError: Server disconnected"] * 8

    failure = classify(read("leak"), responses=responses)

    assert failure.crash_class == "kv_leak"


def test_answers_that_fit_nothing_are_shown():
    failure = classify(HEALTHY_LINES, responses=["503: busy", "503: busy", "500: x"])

    assert failure.crash_class == "unknown"
    assert failure.evidence.startswith("503: busy\n")


def test_a_silent_death_is_told_by_its_exit_code(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("loading\n")

    killed = classify(log, ServerExitedEarly(-9, log, ""))
    crashed = classify(log, ServerExitedEarly(-11, log, ""))
    exited = classify(log, ServerExitedEarly(7, log, ""))

    assert [f.crash_class for f in (killed, crashed, exited)] == [
        "killed",
        "native_crash",
        "unknown",
    ]
    assert "exit code 7\nloading" in exited.evidence


def test_the_end_that_ddbench_gave_a_slow_server_is_not_its_fault(tmp_path):
    log = tmp_path / "server.log"
    log.write_text(
        "loading weights\nTraceback (most recent call last):\n  File x\nKeyboardInterrupt\n"
        "Received sigquit from a child process. It usually means the child failed.\n"
    )

    failure = classify(log, ServerNotReady(900.0, log, ""))

    assert failure.crash_class == "not_ready"
    assert "ready_timeout_s" in failure.advice


def test_a_slow_server_that_named_a_cause_is_explained_by_it(tmp_path):
    log = tmp_path / "server.log"
    log.write_text(read("bind_failure_then_ready_line"))

    assert classify(log, ServerNotReady(900.0, log, "")).crash_class == "port_in_use_http"


def test_flags_that_no_server_was_started_for_are_unknown_flags():
    error = ServerError(
        "error: unrecognized arguments: --no-such-flag (no server was started)", remedy="Remove it."
    )

    failure = classify(str(error), error)

    assert failure.crash_class == "flag_unknown"
    assert "--no-such-flag" in failure.evidence


def test_an_error_without_a_log_keeps_its_own_remedy():
    taken = classify(None, PortInUse("127.0.0.1", 30000))
    other = classify(None, ServerError("cannot run /x: no such program", remedy="Correct it."))

    assert taken.crash_class == "port_in_use_http"
    assert (other.crash_class, other.advice) == ("unknown", "Correct it.")


def test_colours_progress_bars_and_binary_bytes_hide_nothing(tmp_path):
    log = tmp_path / "server.log"
    log.write_bytes(
        b"Capturing batches: 0%\rCapturing batches: 50%\r\x00\xff"
        b"\x1b[31mtorch.OutOfMemoryError: \x1b[0mCUDA out of memory. Tried to allocate 1 GiB\n"
    )

    failure = classify(log)

    assert failure.crash_class == "cuda_oom_alloc"
    assert "\x1b" not in failure.evidence
    assert "Capturing" not in failure.evidence


def test_a_secret_in_the_evidence_is_hidden(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "a-very-secret-value")

    failure = classify("x a-very-secret-value torch.OutOfMemoryError: api_key='abcdefgh'\n")

    assert "secret-value" not in failure.evidence
    assert "abcdefgh" not in failure.evidence


def test_a_long_line_is_cut():
    assert len(classify("kv memory leak detected!" + "x" * 10_000).evidence) < 600


def test_a_missing_log_is_no_reason_to_fail(tmp_path):
    assert classify(tmp_path / "none.log").crash_class == "unknown"


def test_every_class_has_one_row_a_level_and_advice():
    names = [each.name for each in crash_classes()]

    assert len(set(names)) == len(names) >= 40
    for each in crash_classes():
        assert re.fullmatch(r"[a-z0-9_]+", each.name)
        assert each.level in (*LEVELS, "response")
        assert each.advice.endswith(".")
        assert each.pattern.search("") is None
