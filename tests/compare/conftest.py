"""Two measured runs of the embedded engine, whole: folders, and their arms by name."""

import gzip
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddbench.compare.arms import ComparedArm, arms_of
from ddbench.records import RunResult
from ddbench.runs.store import RunStore

RUNS = Path(__file__).parent.parent / "fixtures" / "runs"
Arms = dict[str, ComparedArm]


def unpack(name: str, folder: Path) -> Path:
    with sqlite3.connect(folder / "run.sqlite") as database:
        database.executescript(gzip.decompress((RUNS / f"{name}.sql.gz").read_bytes()).decode())
    database.close()
    return folder


def read_arms(folder: Path) -> Arms:
    with RunStore.open(folder) as store:
        found = arms_of(folder.name, store.launches(), store.results())
    return {arm.name: arm for arm in found}


@pytest.fixture(scope="session")
def quickstart_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("quickstart", tmp_path_factory.mktemp("quickstart"))


@pytest.fixture(scope="session")
def logprobs_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("quickstart-logprobs", tmp_path_factory.mktemp("logprobs"))


@pytest.fixture(scope="session")
def quickstart(quickstart_run: Path) -> Arms:
    return read_arms(quickstart_run)


@pytest.fixture(scope="session")
def with_logprobs(logprobs_run: Path) -> Arms:
    return read_arms(logprobs_run)


@pytest.fixture
def change_trials() -> Callable[..., ComparedArm]:
    """A copy of an arm with `change` applied to each trial, or to those at one concurrency."""

    def changed(
        arm: ComparedArm,
        change: Callable[[RunResult], RunResult],
        *,
        concurrency: int | None = None,
    ) -> ComparedArm:
        trials = tuple(
            change(t) if concurrency in (None, t.trial.load.concurrency) else t for t in arm.trials
        )
        return replace(arm, trials=trials)

    return changed


@pytest.fixture
def change_requests(change_trials: Callable[..., ComparedArm]) -> Callable[..., ComparedArm]:
    """A copy of an arm with `change` applied to every answer."""

    def changed(arm: ComparedArm, change: Callable[[Any], Any]) -> ComparedArm:
        return change_trials(arm, lambda t: replace(t, requests=tuple(map(change, t.requests))))

    return changed
