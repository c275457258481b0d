"""A browser for the session, and the pages that it looks at."""

import gzip
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

RUNS = Path(__file__).parent.parent / "fixtures" / "runs"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def devtools() -> ModuleType:
    """The module beside this file, which no import can name under pytest's importlib mode."""
    path = Path(__file__).parent / "devtools.py"
    spec = importlib.util.spec_from_file_location("browser_devtools", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def browser(devtools: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        why = f"no Chromium: none of {', '.join(PROGRAMS)} is installed"
        if os.environ.get("DDBENCH_REQUIRE_BROWSER") == "1":
            pytest.fail(why)
        pytest.skip(why)
    with devtools.running_browser(program, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="session")
def report_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the stored quickstart, as a user writes it."""
    folder = tmp_path_factory.mktemp("report")
    run = folder / "quickstart"
    run.mkdir()
    with sqlite3.connect(run / "run.sqlite") as database:
        dump = gzip.decompress((RUNS / "quickstart.sql.gz").read_bytes()).decode()
        database.executescript(dump)
    database.close()
    page = folder / "report.html"
    command = "from ddbench.cli.main import main; main()"
    argv = [sys.executable, "-c", command, "report", "html", str(run), "--out", str(page)]
    subprocess.run(argv, check=True, capture_output=True)
    return page


@pytest.fixture
def open_page(browser: Any, devtools: ModuleType) -> Callable[..., Any]:
    """A page at a width, in light or dark; with $DDBENCH_SCREENSHOTS its picture goes there."""

    def opened(path: Path, *, width: int = 1280, theme: str = "light") -> Any:
        page = devtools.Page(browser, path.as_uri(), width=width, theme=theme)
        if folder := os.environ.get("DDBENCH_SCREENSHOTS"):
            page.screenshot(Path(folder) / f"{path.stem}-{theme}-{width}.png")
        return page

    return opened
