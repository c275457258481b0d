"""Open a run's SQLite file, and say in one sentence why it cannot be used."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from ddbench.errors import RunError
from ddbench.runs.schema import SCHEMA_VERSION

DATABASE_NAME = "run.sqlite"
BUSY_TIMEOUT_S = 10.0


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, also on a read-only disk. Raises RunError."""
    if not path.is_file():
        raise _not_a_run(path)
    location = f"file:{quote(str(path.absolute()))}"
    with reported(path):
        connection = _connect(f"{location}?mode=ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            log = path.with_name(f"{path.name}-wal")
            unread = log.exists() and log.stat().st_size > 0
            if error.sqlite_errorcode != sqlite3.SQLITE_CANTOPEN or unread:
                raise
            # WAL mode wants a -shm file even to read; with no log there is nothing to share
            connection = _connect(f"{location}?mode=ro&immutable=1")
    return _checked(connection, path)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """A connection in WAL mode where a committed transaction outlives a power cut."""
    if not path.is_file():
        raise _not_a_run(path)
    with reported(path):
        connection = _connect(f"file:{quote(str(path.absolute()))}?mode=rw")
    _checked(connection, path)
    with reported(path):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    return connection


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into RunErrors that say what to do."""
    try:
        yield
    except sqlite3.IntegrityError as cause:
        raise RunError(
            f"{path} refuses the record: {cause}",
            remedy="Report it with the sweep file: ddbench stored the same thing twice.",
        ) from cause
    except (sqlite3.DatabaseError, OverflowError) as cause:
        raise _database_error(path, cause) from cause


def _connect(location: str) -> sqlite3.Connection:
    # isolation_level None: transactions begin and end where we say so
    connection = sqlite3.connect(location, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_S)
    connection.row_factory = sqlite3.Row
    return connection


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        _require_known_schema(connection, path)
    except RunError:
        connection.close()
        raise
    return connection


def _require_known_schema(connection: sqlite3.Connection, path: Path) -> None:
    with reported(path):
        tables = {row["name"] for row in connection.execute("SELECT name FROM sqlite_master")}
        if "sweep" not in tables:
            raise _not_a_run(path)
        (version,) = connection.execute("SELECT schema_version FROM sweep").fetchone()
    if version > SCHEMA_VERSION:
        raise RunError(
            f"{path} was written by a newer ddbench (its schema is {version}, "
            f"this one reads up to {SCHEMA_VERSION})",
            remedy="Install the ddbench that wrote it, or a later one.",
        )


def _not_a_run(path: Path) -> RunError:
    return RunError(
        f"{path.parent} is not a run: it holds no {DATABASE_NAME} of ddbench",
        remedy="Give the folder that `ddbench sweep` printed last.",
    )


def _database_error(path: Path, cause: sqlite3.DatabaseError | OverflowError) -> RunError:
    code = getattr(cause, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return RunError(
            f"could not write to {path}: {cause}",
            remedy="Free space on its disk; every result stored before this one is kept.",
        )
    if primary == sqlite3.SQLITE_NOTADB:
        return _not_a_run(path)
    return RunError(
        f"could not use {path}: {cause}",
        remedy="Check that the file is readable and whole: `PRAGMA integrity_check` in sqlite3.",
    )
