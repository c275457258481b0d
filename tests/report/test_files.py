"""A report as files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ddbench.errors import RunError
from ddbench.records import Launch, RunResult
from ddbench.report.content import Report
from ddbench.report.files import write_markdown, write_new

MakeReport = Callable[..., Report]


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RunError, match=r"cannot write .*report.html: Not a directory"):
        write_new(tmp_path / "file" / "report.html", "text")


def test_a_figure_that_exists_keeps_all_of_the_report_from_being_written(
    report: MakeReport, launches: list[Launch], sweep: list[RunResult], tmp_path: Path
) -> None:
    mine = tmp_path / "throughput.svg"
    mine.write_text("mine")

    with pytest.raises(RunError, match=r"throughput.svg exists"):
        write_markdown(report("quickstart", launches, sweep), tmp_path)

    assert list(tmp_path.iterdir()) == [mine]
    assert mine.read_text() == "mine"
