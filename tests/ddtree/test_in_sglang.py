"""The series' draws and refusals, with the functions of a real SGLang 0.5.23 beneath them."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ddbench.plan.sglang_cpu import cpu_setup

pytestmark = [pytest.mark.sglang, pytest.mark.timeout(900)]  # SGLang imports for minutes under load

FILES = [
    "sglang/srt/speculative/ddtree_tree.py",
    "sglang/srt/speculative/ddtree_verify.py",
    "sglang/srt/arg_groups/ddtree_hook.py",
]


@pytest.fixture(scope="module")
def result(
    sglang_python: str,
    created_source: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("created")
    for path in FILES:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(created_source(path))
    _, env = cpu_setup(os.environ)

    run = subprocess.run(
        [sglang_python, str(Path(__file__).with_name("in_sglang.py")), str(folder)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=800,
    )

    assert run.returncode == 0, run.stderr
    line = next(line for line in run.stdout.splitlines() if line.startswith("RESULT "))
    found: dict[str, Any] = json.loads(line.removeprefix("RESULT "))
    return found


def test_draws_have_the_targets_distribution_at_its_temperature(result: dict[str, Any]) -> None:
    assert result["plain"] == pytest.approx(result["plain_expected"], abs=0.02)


def test_top_k_and_top_p_cut_the_draws(result: dict[str, Any]) -> None:
    assert sum(share > 0 for share in result["top_k"]) == 2
    assert sum(share > 0 for share in result["top_p"]) == 1


def test_a_greedy_request_beside_a_sampled_one_gets_the_best_token(result: dict[str, Any]) -> None:
    assert result["greedy_row"] == result["greedy_row_expected"]


def test_budget_and_block_size_are_independent_and_impossible_trees_are_refused(
    result: dict[str, Any],
) -> None:
    default, narrow, wide, chain, unfillable, no_block = result["shapes"]

    assert (default, narrow, wide, chain) == ([15, 4], [7, 4], [63, 4], [7, 1])
    assert "cannot be filled" in unfillable
    assert "at most 7 nodes" in unfillable
    assert "block size of at least 2" in no_block
