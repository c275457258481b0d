"""The table at the end of a sweep, as it prints."""

import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from ddbench.records import Failure, Launch, RunResult
from ddbench.report.terminal import summary_table

Make = Callable[..., RunResult]


def printed(results: list[RunResult], launches: list[Launch], *, width: int = 100) -> list[str]:
    """What a file gets: no terminal, no colours."""
    stream = io.StringIO()
    Console(file=stream, width=width).print(summary_table(results, launches))
    return stream.getvalue().splitlines()


def test_every_arm_is_one_line_of_at_most_100_columns(
    sweep: list[RunResult], launches: list[Launch]
) -> None:
    lines = printed(sweep, launches)

    assert max(map(len, lines)) <= 100
    for arm in ("autoregressive", "linear-8", "tree-8-31-4"):
        found = [line for line in lines if line.startswith(arm)]
        assert len(found) == 2
        assert all(line.rstrip().endswith("n=48") for line in found)
    assert "\x1b" not in "".join(lines)


def test_each_number_has_its_interval_and_n(sweep: list[RunResult], launches: list[Launch]) -> None:
    lines = printed(sweep, launches)

    number = r"[\d.]+ [\d.]+-[\d.]+ n=\d+"
    line = next(line for line in lines if line.startswith("linear-8"))
    assert re.fullmatch(rf"linear-8( +{number}){{4}} *", line)
    assert "3.01 2.95-3.07 n=48" in line
    assert "asked for 8" in "".join(lines)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_width_loses_a_number(
    sweep: list[RunResult], launches: list[Launch], width: int
) -> None:
    lines = printed(sweep, launches, width=width)

    assert max(map(len, lines)) <= width
    assert "".join(lines).count("n=48") == 3 * 2 + 2 * 2  # TPOT of three arms, steps of two
    assert "".join(lines).count("n=2") == 3 * 2 * 2


def test_an_interval_of_two_unlike_trials_does_not_go_below_nothing(
    make_result: Make, launches: list[Launch]
) -> None:
    results = [make_result(repeat=0), make_result(repeat=1, wall_s=1000.0)]

    line = next(line for line in printed(results, launches) if line.startswith("linear-8"))

    assert "28.5 0.0->28" in line  # a thousand times the value, and no more is said


def test_says_what_it_does_not_know(sweep: list[RunResult], launches: list[Launch]) -> None:
    text = " ".join(" ".join(printed(sweep, launches)).split())

    assert "embedded demo model, CPU" in text
    assert "drift and launch-to-launch variance not measured" in text


def test_failures_are_counted_below_the_table(make_result: Make, launches: list[Launch]) -> None:
    died = make_result("tree-8-31-4", failure=Failure("server_died", "x", "Read the log."))

    lines = printed([make_result(), died], launches)

    assert any("1 trials and 0 requests" in line for line in lines)
    assert any(line.startswith("tree-8-31-4") for line in lines)


def test_an_arm_name_is_text_and_not_markup(make_result: Make, launches: list[Launch]) -> None:
    result = make_result()
    odd = replace(result, trial=replace(result.trial, arm="[red]a[/red]"))

    assert any(line.startswith("[red]a[/red]") for line in printed([odd], launches))


def test_a_run_without_results_prints_an_empty_table(launches: list[Launch]) -> None:
    assert printed([], launches)[0].startswith("arm")


def test_rates_are_told_apart(make_result: Make, launches: list[Launch]) -> None:
    lines = printed([make_result(rate_per_s=rate) for rate in (8.0, 2.5)], launches)

    assert [line.strip() for line in lines if "asked for" in line] == [
        "asked for 2.5/s",
        "asked for 8/s",
    ]
    assert len([line for line in lines if line.startswith("linear-8")]) == 2
