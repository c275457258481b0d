"""`ddbench conformance` as a process. "Your SGLang" is ddbench's own engine here, sound or broken.

That the command tells a broken SGLang from a sound one is in test_patch_faults.py.
"""

import json
import sys
from pathlib import Path

import pytest

LAUNCH = """#!{python}
import os, runpy, sys
asked = dict(zip(sys.argv, sys.argv[1:]))
taken = ("--model-path", "--host", "--port", "--max-running-requests", "--speculative-algorithm",
         "--speculative-draft-model-path", "--speculative-dflash-block-size",
         "--speculative-ddtree-budget", "--speculative-ddtree-topk", "--decode-log-interval")
assert sys.argv[1:3] == ["-m", "sglang.launch_server"]
sys.argv = ["engine", "--enable-metrics"]
sys.argv += [word for name in taken if name in asked for word in (name, asked[name])]
sys.argv += {fault!r}
runpy.run_module("ddbench.engine", run_name="__main__")
"""


@pytest.fixture
def build(tmp_path: Path):
    """An interpreter whose SGLang is our engine, perhaps with a planted fault."""

    def write(*fault: str) -> Path:
        path = tmp_path / "python"
        path.write_text(LAUNCH.format(python=sys.executable, fault=list(fault)))
        path.chmod(0o755)
        return path

    return write


def test_a_sound_build_passes_check_by_check(ddbench, build) -> None:
    done = ddbench("conformance", "--python", build(), "--trees", "--case", "tree-8-31-4")

    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line[:4] for line in lines[:-1]] == ["ok  "] * 7
    assert lines[-1].endswith("all passed")
    assert "tokens and log-probabilities == the reference, at concurrency 8" in done.stdout
    assert "commit len == accepted depth + 1" in done.stdout


def test_a_broken_build_fails_with_its_first_divergence(ddbench, build, tmp_path) -> None:
    python = build("--fault", "mask-dropped")

    done = ddbench(
        *("conformance", "--python", python, "--trees", "--case", "tree-8-31-4"),
        *("--json", "--logs", tmp_path / "logs"),
    )

    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    failed = [check for check in report["checks"] if not check["passed"]]
    assert report["passed"] is False
    assert any(check["divergence"] for check in failed)
    assert (tmp_path / "logs" / "tree-8-31-4.log").exists()


def test_patches_that_do_not_fit_are_refused_before_any_server_starts(ddbench, tmp_path) -> None:
    logs = tmp_path / "logs"

    done = ddbench("conformance", "--python", sys.executable, "--patches", "ddtree", "--logs", logs)

    assert done.returncode == 2
    assert "has no SGLang to patch" in done.stderr
    assert not list(logs.iterdir())


def test_logs_that_cannot_be_kept_are_a_sentence(ddbench, tmp_path) -> None:
    (tmp_path / "file").write_text("")

    done = ddbench("conformance", "--python", sys.executable, "--logs", tmp_path / "file" / "logs")

    assert done.returncode == 2
    assert "cannot keep logs in" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_never_starts_is_no_verdict(ddbench, tmp_path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho it does not start\nexit 3\n")
    python.chmod(0o755)

    done = ddbench("conformance", "--python", python, "--case", "linear-8")

    assert done.returncode == 2
    assert "it does not start" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(
    any(Path("/dev").glob("nvidia[0-9]*")), reason="this machine has a GPU, which is not refused"
)
def test_a_gpu_run_without_a_gpu_is_refused(ddbench, build) -> None:
    done = ddbench("conformance", "--python", build(), "--gpu")

    assert done.returncode == 2
    assert "no GPU is seen" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no interpreter"),
        (("--python", "/x", "--case", "tree-9"), "Choose among autoregressive, linear-8"),
        (("--python", "/x", "--flag", "x"), "no NAME=VALUE"),
        (("--python", "/nowhere/python"), "cannot run /nowhere/python"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(ddbench, monkeypatch, arguments, said) -> None:
    monkeypatch.delenv("DDBENCH_SGLANG_PYTHON", raising=False)

    done = ddbench("conformance", *arguments)

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
