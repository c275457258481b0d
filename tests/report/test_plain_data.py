"""`report json`: documented keys, and numbers that can be had from the records by hand."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from ddbench.records import Launch, RunResult
from ddbench.report import plain_data
from ddbench.report.content import Report
from ddbench.report.markdown import render_markdown
from ddbench.report.plain_data import render_json
from ddbench.stats.service_level import read_limits

MakeReport = Callable[..., Report]


@pytest.fixture
def data(report: MakeReport, launches: list[Launch], sweep: list[RunResult]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(render_json(report("quickstart", launches, sweep)))
    return found


def test_the_keys_are_those_that_are_documented(data: dict[str, Any]) -> None:
    rows = re.findall(r"^\| ([\w, ]+) \|", plain_data.__doc__ or "", re.MULTILINE)
    documented = [key for row in rows for key in row.split(", ") if key != "key"]

    assert list(data) == documented
    assert data["schema_version"] == 1


def test_a_number_carries_its_interval_and_n(data: dict[str, Any], sweep: list[RunResult]) -> None:
    (row,) = (r for r in data["rows"] if (r["arm"], r["concurrency"]) == ("linear-8", 1))

    requests = [
        request
        for result in sweep
        if result.trial.arm == "linear-8" and result.trial.load.concurrency == 1
        for request in result.completed
    ]
    tokens = sum(r.completion_tokens - 1 for r in requests)
    found = row["tokens_per_step"]
    assert found["value"] == pytest.approx(tokens / sum(r.verify_ct or 0 for r in requests))
    assert found["low"] < found["value"] < found["high"]
    assert (found["n"], found["confidence"]) == (48, 0.95)
    assert row["tpot_s"]["value"] < 0.1


def test_what_was_sent_names_every_concurrency(data: dict[str, Any]) -> None:
    (sent,) = data["loads"]

    assert (sent["count"], sent["concurrencies"], sent["rates_per_s"]) == (48, [1, 8], [])


def test_the_comparison_says_which_numbers_are_of_unlike_conditions(data: dict[str, Any]) -> None:
    (pair,) = data["comparison"]["pairs"]

    assert (pair["linear"], pair["tree"]) == ("linear-8", "tree-8-31-4")
    assert [pair["label"], *(cell["label"] for cell in pair["cells"])] == [None, None]
    assert data["not_compared"] is None


def test_the_answer_is_text(data: dict[str, Any]) -> None:
    assert data["answer"].startswith("Measured on the embedded demo model, CPU. At concurrency 1 ")


def test_a_service_level_is_answered_in_data_and_in_text(
    report: MakeReport, launches: list[Launch], sweep: list[RunResult]
) -> None:
    made = report("quickstart", launches, sweep, limits=read_limits("tpot_s<60"))

    levels = json.loads(render_json(made))["levels"]
    assert [level["concurrency"] for level in levels] == [1, 8]
    assert [level["verdict"] for level in levels] == ["meets it", "no arm could be judged"]
    assert set(levels[1]["left_out"]) == {"autoregressive", "linear-8", "tree-8-31-4"}
    assert "## Under the service level" in render_markdown(made)
