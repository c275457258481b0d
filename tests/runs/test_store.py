"""One folder, one sweep, facts written once."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ddbench.errors import RunError
from ddbench.records import Failure, Launch, RunResult, SweepPlan
from ddbench.runs.store import RunStore

FAILED = Failure("server_died", "last line", "Read the log.")
Make = Callable[..., RunResult]


def one_sentence(error: pytest.ExceptionInfo[RunError]) -> bool:
    return "\n" not in str(error.value) and error.value.remedy.endswith(".")


def test_keeps_the_sweep_file_exactly(tmp_path: Path, plan: SweepPlan) -> None:
    with RunStore.create(tmp_path / "run", plan):
        pass

    with RunStore.open(tmp_path / "run") as store:
        assert (store.name, store.plan_text) == (plan.name, plan.text)
    assert (tmp_path / "run" / "sweep.yaml").read_bytes() == plan.text.encode()


def test_refuses_a_folder_that_holds_another_sweep(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Make
) -> None:
    with RunStore.create(tmp_path, plan) as store:
        store.add_result(store.add_launch(launch), make_result())
    before = (tmp_path / "run.sqlite").read_bytes()

    with pytest.raises(RunError, match="already holds") as caught:
        RunStore.create(tmp_path, plan)

    assert one_sentence(caught)
    assert (tmp_path / "run.sqlite").read_bytes() == before


def test_refuses_a_folder_with_files_of_somebody_else(tmp_path: Path, plan: SweepPlan) -> None:
    (tmp_path / "thesis.txt").write_text("precious")

    with pytest.raises(RunError, match=r"thesis\.txt"):
        RunStore.create(tmp_path, plan)

    assert not (tmp_path / "run.sqlite").exists()


def test_refuses_a_path_that_is_a_file(tmp_path: Path, plan: SweepPlan) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RunError, match="could not create") as caught:
        RunStore.create(tmp_path / "file", plan)

    assert one_sentence(caught)


def test_a_create_that_was_killed_leaves_a_usable_folder(tmp_path: Path, plan: SweepPlan) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / "run.sqlite.new").write_bytes(b"half a data")

    with RunStore.create(tmp_path, plan) as store:
        assert store.name == plan.name


@pytest.mark.parametrize("content", [None, b"", b"not a database at all" * 100])
def test_what_is_not_a_run_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "run.sqlite").write_bytes(content)

    for opener in (RunStore.open, RunStore.resume):
        with pytest.raises(RunError, match="is not a run") as caught:
            opener(tmp_path)
        assert one_sentence(caught)


def test_a_database_of_another_program_is_not_a_run(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "run.sqlite") as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()

    with pytest.raises(RunError, match="is not a run"):
        RunStore.open(tmp_path)


def test_a_run_of_a_newer_ddbench_is_refused_in_one_sentence(
    tmp_path: Path, plan: SweepPlan
) -> None:
    RunStore.create(tmp_path, plan).close()
    with sqlite3.connect(tmp_path / "run.sqlite") as connection:
        connection.execute("DROP TRIGGER sweep_no_update")
        connection.execute("UPDATE sweep SET schema_version = 99")
    connection.close()

    with pytest.raises(RunError, match="newer ddbench") as caught:
        RunStore.open(tmp_path)

    assert one_sentence(caught)


def test_the_database_is_in_wal_mode_and_whole(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Make
) -> None:
    with RunStore.create(tmp_path, plan) as store:
        store.add_result(store.add_launch(launch), make_result())
    connection = sqlite3.connect(tmp_path / "run.sqlite")

    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
    connection.close()


def test_a_failed_trial_is_not_done_and_may_be_measured_again(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Make
) -> None:
    with RunStore.create(tmp_path, plan) as store:
        launch_id = store.add_launch(launch)
        store.add_result(launch_id, make_result("a", failure=FAILED))
        assert store.done_keys() == set()

        store.add_result(launch_id, make_result("a"))

        assert store.done_keys() == {"a"}
        assert store.keys() == ["a", "a"]
        assert [r.failure for r in store.results()] == [FAILED, None]


def test_a_trial_that_is_done_is_not_stored_twice(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Make
) -> None:
    with RunStore.create(tmp_path, plan) as store:
        launch_id = store.add_launch(launch)
        store.add_result(launch_id, make_result("a"))

        with pytest.raises(RunError, match="refuses the record"):
            store.add_result(launch_id, make_result("a"))

        store.add_result(launch_id, make_result("b"))
        assert store.keys() == ["a", "b"]


def test_a_result_needs_its_launch(tmp_path: Path, plan: SweepPlan, make_result: Make) -> None:
    with RunStore.create(tmp_path, plan) as store:
        with pytest.raises(RunError, match="FOREIGN KEY"):
            store.add_result(7, make_result())


@pytest.mark.parametrize("statement", ["UPDATE {} SET rowid = 5", "DELETE FROM {}"])
@pytest.mark.parametrize("table", ["sweep", "servers", "launches", "trials"])
def test_facts_are_never_edited(
    tmp_path: Path,
    plan: SweepPlan,
    launch: Launch,
    make_result: Make,
    statement: str,
    table: str,
) -> None:
    with RunStore.create(tmp_path, plan) as store:
        store.add_result(store.add_launch(launch), make_result())
    connection = sqlite3.connect(tmp_path / "run.sqlite")

    with pytest.raises(sqlite3.IntegrityError, match="never edited"):
        connection.execute(statement.format(table))

    connection.close()


def test_a_run_is_readable_while_it_is_written(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Make
) -> None:
    with RunStore.create(tmp_path, plan) as writer, RunStore.open(tmp_path) as reader:
        launch_id = writer.add_launch(launch)
        writer.add_result(launch_id, make_result("a"))

        assert reader.keys() == ["a"]


def test_a_reader_cannot_write(tmp_path: Path, plan: SweepPlan, launch: Launch) -> None:
    RunStore.create(tmp_path, plan).close()

    with RunStore.open(tmp_path) as store, pytest.raises(RunError, match="reading only"):
        store.add_launch(launch)


def test_an_older_run_can_be_continued(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Make
) -> None:
    with RunStore.create(tmp_path, plan) as store:
        store.add_result(store.add_launch(launch), make_result("a"))

    with RunStore.resume(tmp_path) as store:
        store.add_result(store.add_launch(launch), make_result("b"))

        assert store.done_keys() == {"a", "b"}
        assert len(store.launches()) == 2


def test_a_number_that_sqlite_cannot_hold_is_an_error_and_stores_nothing(
    tmp_path: Path, plan: SweepPlan, launch: Launch, make_result: Make
) -> None:
    result = make_result("a")
    *others, last = result.requests
    broken = replace(result, requests=(*others, replace(last, http_status=2**64)))
    with RunStore.create(tmp_path, plan) as store:
        launch_id = store.add_launch(launch)

        with pytest.raises(RunError, match="could not use"):
            store.add_result(launch_id, broken)

        assert store.keys() == []
        store.add_result(launch_id, result)
        assert list(store.results()) == [result]


@pytest.mark.parametrize("arm", ["tree-8-31-4", "../../etc/passwd", ".hidden", "a b|c", "///", ""])
def test_every_launch_gets_a_log_of_its_own_inside_the_folder(
    tmp_path: Path, plan: SweepPlan, arm: str
) -> None:
    with RunStore.create(tmp_path, plan) as store:
        first = store.new_log_path(arm)
        first.touch()
        second = store.new_log_path(arm)

    assert first != second
    assert first.resolve().parent == second.resolve().parent == tmp_path
    assert not first.name.startswith(".")
