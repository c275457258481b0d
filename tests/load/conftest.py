"""Servers as processes of their own, and the smallest load."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ddbench.load.closed_loop import run_closed_loop
from ddbench.records import LoadConfig, LoadOutcome, Prompt

HERE = Path(__file__).parent


@contextmanager
def served(script: str, *args: object) -> Iterator[str]:
    """The base URL of a script of this folder that prints its port."""
    argv = [sys.executable, str(HERE / script), *map(str, args)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.fixture(scope="session")
def rude_url() -> Iterator[str]:
    """A server shared by every test that leaves it alive."""
    with served("rude_server.py") as base_url:
        yield base_url


@pytest.fixture
def start() -> Callable[..., Any]:
    """`with start(script, *args) as base_url`: a server of the test's own."""
    return served


@pytest.fixture(scope="session")
def ask() -> Callable[..., LoadOutcome]:
    """Send texts as prompts, one after the other unless told otherwise."""

    def send(base_url: str, *texts: str, concurrency: int = 1, **load: Any) -> LoadOutcome:
        prompts = [Prompt(f"p{n}", text) for n, text in enumerate(texts)]
        load.setdefault("timeout_s", 20.0)
        config = LoadConfig("test", len(texts), concurrency, max_new_tokens=6, **load)
        return run_closed_loop(base_url, prompts, config)

    return send
