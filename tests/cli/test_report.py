"""`ddbench report` as a process: streams, files, exit codes."""

import gzip
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from xml.etree import ElementTree

import pytest

RUNS = Path(__file__).parent.parent / "fixtures" / "runs"
Ddbench = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "quickstart"
    folder.mkdir()
    with sqlite3.connect(folder / "run.sqlite") as database:
        dump = gzip.decompress((RUNS / "quickstart.sql.gz").read_bytes()).decode()
        database.executescript(dump)
    database.close()
    return folder


def test_markdown_on_stdout_shows_no_file_that_is_not_there(ddbench: Ddbench, run: Path) -> None:
    done = ddbench("report", "markdown", run)

    assert (done.returncode, done.stderr) == (0, "")
    assert "](" not in done.stdout
    headings = re.findall(r"^## (.*)$", done.stdout, re.MULTILINE)
    assert headings == [
        *("Findings", "Answer", "Results", "Speedup at the same concurrency"),
        *("Linear against tree", "What ran where", "How to read this"),
    ]


def test_markdown_in_a_folder_has_its_figures_beside_it(
    ddbench: Ddbench, run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "report"

    done = ddbench("report", "markdown", run, "--out", folder)

    assert (done.returncode, done.stdout) == (0, f"{folder / 'report.md'}\n")
    shown = re.findall(
        r"^!\[[^\]]+\]\(([a-z0-9-]+\.svg)\)$", (folder / "report.md").read_text(), re.M
    )
    assert sorted(shown) == sorted(path.name for path in folder.glob("*.svg"))
    assert len(shown) >= 4
    for name in shown:
        assert ElementTree.parse(folder / name).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_html_is_one_file(ddbench: Ddbench, run: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"

    done = ddbench("report", "html", run, "--out", page)

    assert (done.returncode, done.stdout) == (0, f"{page}\n")
    assert list(tmp_path.iterdir()) == [page]
    assert page.read_text().startswith("<!doctype html>")


def test_json_is_plain_data(ddbench: Ddbench, run: Path) -> None:
    done = ddbench("report", "json", run)

    data = json.loads(done.stdout)
    assert (data["run"], data["trials"], data["launches"]) == ("quickstart", 36, 6)
    assert {one["code"] for one in data["findings"]} >= {"DDB207"}
    assert len(data["rows"]) == 18


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_what_exists_is_never_overwritten(
    ddbench: Ddbench, run: Path, tmp_path: Path, form: str
) -> None:
    mine = tmp_path / "report.md"
    mine.write_text("mine")

    done = ddbench("report", form, run, "--out", tmp_path if form == "markdown" else mine)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"{mine} exists" in done.stderr
    assert mine.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [mine]
