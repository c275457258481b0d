"""The store of one sweep: a folder with `run.sqlite`, the sweep file and the servers' logs.

Facts only, written once: a result is one transaction, so that it is there whole or not at all,
whatever kills the writer. A trial is done when a row without a failure has its key; a failed one
stays and may be measured again.

    folder/
      run.sqlite   everything measured (schema.py)
      sweep.yaml   the sweep file, for people; the database has its text too
      *.log        one a launch
"""

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from ddbench import __version__
from ddbench.errors import RunError
from ddbench.records import (
    ClientHealth,
    Counters,
    DecodeWindow,
    Environment,
    Failure,
    Launch,
    LoadConfig,
    LogExcerpt,
    PrefillWindow,
    RequestCompleted,
    RequestFailed,
    RequestOutcome,
    RunResult,
    ServerConfig,
    SweepPlan,
    Trial,
)
from ddbench.runs.database import DATABASE_NAME, open_for_reading, open_for_writing, reported
from ddbench.runs.encoding import Column, from_json, from_row, storable, to_json, to_row
from ddbench.runs.lock import LOCK_NAME, lock_folder
from ddbench.runs.schema import SCHEMA_VERSION, TABLES, WRITE_ONCE

PLAN_NAME = "sweep.yaml"
_UNFINISHED = f"{DATABASE_NAME}.new"


class RunStore:
    """A run folder, open for reading (`open`) or as its only writer (`create`, `resume`)."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = lock
        row = self._query("SELECT name, plan_text, created_at FROM sweep")[0]
        self.name: str = row["name"]
        self.plan_text: str = row["plan_text"]
        self.created_at: str = row["created_at"]  # UTC, ISO 8601

    # ------------------------------------------------------------ life

    @classmethod
    def create(cls, folder: Path, plan: SweepPlan) -> Self:
        """Make `folder` the run of `plan`. Raises RunError where it holds anything already."""
        with _disk_reported(folder):
            folder.mkdir(parents=True, exist_ok=True)
            _require_empty(folder)  # before the lock, which would leave a file with strangers
            lock = lock_folder(folder)
        try:
            with _disk_reported(folder):
                _require_empty(folder)  # again: another may have held the lock until now
                _write_new_database(folder, plan)
                (folder / PLAN_NAME).write_text(plan.text, encoding="utf-8", newline="")
            return cls(folder, open_for_writing(folder / DATABASE_NAME), lock)
        except BaseException:
            os.close(lock)
            raise

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Read a run, also while a sweep writes to it. Raises RunError where there is none."""
        return cls(folder, open_for_reading(folder / DATABASE_NAME), None)

    @classmethod
    def resume(cls, folder: Path) -> Self:
        """Add to an existing run. Raises RunError while another process does so."""
        open_for_reading(folder / DATABASE_NAME).close()
        with _disk_reported(folder):
            lock = lock_folder(folder)
        try:
            return cls(folder, open_for_writing(folder / DATABASE_NAME), lock)
        except BaseException:
            os.close(lock)
            raise

    def close(self) -> None:
        self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    # ------------------------------------------------------------ writing

    def add_launch(self, launch: Launch) -> int:
        """Store one server start, and return its id for the trials that ran on it."""
        with self._transaction():
            return self._insert(
                "launches",
                server_id=self._server_id(launch.server),
                argv=to_json(launch.argv),
                log_name=launch.log_name,
                startup_s=launch.startup_s,
                environment=to_json(launch.environment),
                failure=_json_or_none(launch.failure),
            )

    def add_result(self, launch_id: int, result: RunResult) -> None:
        """Store one trial, whole or not at all. Raises RunError when its key is done already."""
        trial = result.trial
        with self._transaction():
            trial_id = self._insert(
                "trials",
                launch_id=launch_id,
                key=result.key,
                arm=storable(trial.arm),
                server_id=self._server_id(trial.server),
                concurrency=trial.load.concurrency,
                repeat=trial.repeat,
                visit=trial.visit,
                load=to_json(trial.load),
                started_at=result.started_at,
                wall_s=result.wall_s,
                client=_json_or_none(result.client),
                log=to_json(replace(result.log, decode=(), prefill=())),
                counters_before=to_json(result.counters_before),
                counters_after=to_json(result.counters_after),
                failure=_json_or_none(result.failure),
            )
            self._insert_all("requests", trial_id, [_request_row(r) for r in result.requests])
            self._insert_all("decode_windows", trial_id, [to_row(w) for w in result.log.decode])
            self._insert_all("prefill_windows", trial_id, [to_row(w) for w in result.log.prefill])

    def new_log_path(self, arm: str) -> Path:
        """A file for the next launch of `arm`; nothing of that name exists yet."""
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", arm).lstrip(".") or "server"
        taken = {path.name for path in self.folder.iterdir()}
        number = next(n for n in range(1, len(taken) + 2) if f"{stem}-{n}.log" not in taken)
        return self.folder / f"{stem}-{number}.log"

    # ------------------------------------------------------------ reading

    def log_path(self, name: str) -> Path:
        """Where the log called `name` in a Launch lies."""
        return self.folder / name

    def launches(self) -> list[Launch]:
        """Every server start, in order."""
        rows = self._query(
            "SELECT * FROM launches JOIN servers USING (server_id) ORDER BY launch_id"
        )
        return [
            Launch(
                server=from_json(ServerConfig, row["config"]),
                argv=from_json(tuple[str, ...], row["argv"]),
                log_name=row["log_name"],
                startup_s=row["startup_s"],
                environment=from_json(Environment, row["environment"]),
                failure=_failure(row),
            )
            for row in rows
        ]

    def results(self) -> Iterator[RunResult]:
        """Every trial's result, failed ones too, in the order they were measured."""
        rows = self._query(
            "SELECT trials.*, config, ("
            "   SELECT json_extract(environment, '$.facts.\"host.name\"')"
            "   FROM launches WHERE launches.launch_id = trials.launch_id) AS host"
            " FROM trials JOIN servers USING (server_id) ORDER BY trial_id"
        )
        yield from (self._result(row) for row in rows)

    def keys(self) -> list[str]:
        """The key of every stored result, in order; a retried trial has several."""
        return [row["key"] for row in self._query("SELECT key FROM trials ORDER BY trial_id")]

    def done_keys(self) -> set[str]:
        """The keys of the trials that have a valid result."""
        return {row["key"] for row in self._query("SELECT key FROM trials WHERE failure IS NULL")}

    # ------------------------------------------------------------ inside

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._lock is None:
            raise RunError(
                f"{self.folder} is open for reading only",
                remedy="Open it with RunStore.create or RunStore.resume.",
            )
        with reported(self.folder / DATABASE_NAME):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # SQLite itself rolls back on a full disk
                    self._connection.execute("ROLLBACK")
                raise

    def _query(self, sql: str, values: Sequence[Column] = ()) -> list[sqlite3.Row]:
        with reported(self.folder / DATABASE_NAME):
            return self._connection.execute(sql, values).fetchall()

    def _insert(self, table: str, **columns: Column) -> int:
        cursor = self._connection.execute(_insert_into(table, columns), columns)
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _insert_all(self, table: str, trial_id: int, rows: list[dict[str, Column]]) -> None:
        for position, row in enumerate(rows):
            columns = {"trial_id": trial_id, "position": position, **row}
            self._connection.execute(_insert_into(table, columns), columns)

    def _server_id(self, server: ServerConfig) -> int:
        config = to_json(server)
        self._connection.execute("INSERT OR IGNORE INTO servers (config) VALUES (?)", (config,))
        found = self._query("SELECT server_id FROM servers WHERE config = ?", (config,))
        server_id: int = found[0]["server_id"]
        return server_id

    def _result(self, row: sqlite3.Row) -> RunResult:
        rows = partial(self._rows_of, row["trial_id"])
        return RunResult(
            key=row["key"],
            trial=Trial(
                arm=row["arm"],
                server=from_json(ServerConfig, row["config"]),
                load=from_json(LoadConfig, row["load"]),
                repeat=row["repeat"],
                visit=row["visit"],
            ),
            started_at=row["started_at"],
            requests=tuple(_request(r) for r in rows("requests")),
            wall_s=row["wall_s"],
            client=from_json(ClientHealth, row["client"]) if row["client"] is not None else None,
            log=replace(
                from_json(LogExcerpt, row["log"]),
                decode=tuple(from_row(DecodeWindow, w) for w in rows("decode_windows")),
                prefill=tuple(from_row(PrefillWindow, w) for w in rows("prefill_windows")),
            ),
            counters_before=from_json(Counters, row["counters_before"]),
            counters_after=from_json(Counters, row["counters_after"]),
            failure=_failure(row),
            host=row["host"],
        )

    def _rows_of(self, trial_id: int, table: str) -> list[dict[str, Column]]:
        sql = f"SELECT * FROM {table} WHERE trial_id = ? ORDER BY position"
        return [dict(row) for row in self._query(sql, (trial_id,))]


def _insert_into(table: str, columns: dict[str, Column]) -> str:
    names = ", ".join(columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in columns)})"


def _request_row(request: RequestOutcome) -> dict[str, Column]:
    status = "completed" if isinstance(request, RequestCompleted) else "failed"
    return {"status": status, **to_row(request)}


def _request(row: dict[str, Column]) -> RequestOutcome:
    if row["status"] == "completed":
        return from_row(RequestCompleted, row)
    return from_row(RequestFailed, row)


def _json_or_none(record: object | None) -> str | None:
    return None if record is None else to_json(record)


def _failure(row: sqlite3.Row) -> Failure | None:
    return None if row["failure"] is None else from_json(Failure, row["failure"])


def _require_empty(folder: Path) -> None:
    """Left-overs of a `create` that was killed do not count: nothing was measured into them."""
    ours = {LOCK_NAME, _UNFINISHED, f"{_UNFINISHED}-journal"}
    if strangers := sorted(path.name for path in folder.iterdir() if path.name not in ours):
        raise RunError(
            f"{folder} already holds {', '.join(strangers[:3])}",
            remedy="Choose another --out folder; ddbench overwrites nothing.",
        )


def _write_new_database(folder: Path, plan: SweepPlan) -> None:
    """Under another name until it is whole, so that `run.sqlite` is never half a run."""
    unfinished = folder / _UNFINISHED
    unfinished.unlink(missing_ok=True)
    unfinished.with_name(f"{_UNFINISHED}-journal").unlink(missing_ok=True)
    with reported(folder / DATABASE_NAME):
        connection = sqlite3.connect(unfinished, isolation_level=None)
        try:
            connection.executescript(f"BEGIN; {TABLES} {WRITE_ONCE}")
            connection.execute(
                "INSERT INTO sweep VALUES (?, ?, ?, ?, ?)",
                (
                    SCHEMA_VERSION,
                    storable(plan.name),
                    storable(plan.text),
                    datetime.now(UTC).isoformat(timespec="seconds"),
                    __version__,
                ),
            )
            connection.execute("COMMIT")
        finally:
            connection.close()
    unfinished.rename(folder / DATABASE_NAME)
    _make_rename_durable(folder)


def _make_rename_durable(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _disk_reported(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as cause:
        raise RunError(
            f"could not create a run in {folder}: {cause.strerror}",
            remedy="Choose an --out folder that you may write to, on a disk with space.",
        ) from cause
