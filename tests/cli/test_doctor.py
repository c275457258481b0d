"""ddbench doctor, as a user types it. What each probe finds is tested in tests/server/doctor."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Ddbench = Callable[..., CompletedProcess[str]]

ENGINES = ("embedded engine", "SGLang 0.5.23 on a CPU", "SGLang on GPUs")


@pytest.fixture(autouse=True)
def no_sglang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DDBENCH_SGLANG_PYTHON", raising=False)


def test_lists_what_runs_here_and_what_is_missing(ddbench: Ddbench) -> None:
    done = ddbench("doctor")

    assert all(name in done.stdout for name in (*ENGINES, "systemd", "SGLang patches"))
    assert "missing: $DDBENCH_SGLANG_PYTHON is not set" in done.stdout
    assert "ddbench doctor --install-sglang-cpu DIR" in done.stdout


def test_json_says_the_same_and_the_exit_code_whether_anything_runs(ddbench: Ddbench) -> None:
    done = ddbench("doctor", "--json")

    found = json.loads(done.stdout)
    assert tuple(each["name"] for each in found if each["is_engine"]) == ENGINES
    can_run = any(each["ready"] for each in found if each["is_engine"])
    assert done.returncode == (0 if can_run else 1)


def test_the_interpreter_may_come_from_the_variable_or_the_option(
    ddbench: Ddbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DDBENCH_SGLANG_PYTHON", "/no/such/python")

    by_variable = json.loads(ddbench("doctor", "--json").stdout)
    by_option = json.loads(ddbench("doctor", "--json", "--python", sys.executable).stdout)

    assert "/no/such/python" in by_variable[1]["missing"][0]
    assert by_option[1]["facts"]["interpreter"] == sys.executable


def test_a_folder_that_is_not_ours_is_refused_with_exit_code_2(
    ddbench: Ddbench, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").touch()

    done = ddbench("doctor", "--install-sglang-cpu", tmp_path)

    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert "try: Name a new or an empty folder." in done.stderr
    assert done.stdout == ""
    assert os.listdir(tmp_path) == ["thesis.tex"]  # noqa: PTH208
