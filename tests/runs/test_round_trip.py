"""Whatever a record can hold comes back equal from a real database."""

import sqlite3
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ddbench.errors import RunError
from ddbench.records import (
    DecodeWindow,
    Launch,
    PrefillWindow,
    RequestCompleted,
    RequestFailed,
    RunResult,
    ServerConfig,
    SweepPlan,
)
from ddbench.runs.encoding import from_json, from_row, to_json, to_row
from ddbench.runs.schema import TABLES
from ddbench.runs.store import RunStore

PLAN = SweepPlan("sweep", "name: sweep\n", (), (), (), 1, 1)

SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**63), 2**63 - 1),
    # no NaN: it equals nothing, and None is "not measured"; no -0.0, which SQLite stores as 0
    float: st.floats(allow_nan=False).map(lambda number: number + 0.0),
    str: st.text(max_size=8),
    bool: st.booleans(),
    types.NoneType: st.none(),
    datetime: st.datetimes().map(lambda moment: moment.replace(fold=0)),
    Path: st.just(Path("x")),
}


def anything(hint: Any) -> st.SearchStrategy[Any]:
    """Every value that the type hint allows, every field of a dataclass drawn."""
    if hint in SCALARS:
        return SCALARS[hint]
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(hint, **{f.name: anything(hints[f.name]) for f in fields(hint)})
    arguments = get_args(hint)
    if get_origin(hint) in (Union, types.UnionType):
        return st.one_of([anything(argument) for argument in arguments])
    if get_origin(hint) is Literal:
        return st.sampled_from(arguments)
    if get_origin(hint) is Mapping:
        return st.dictionaries(anything(arguments[0]), anything(arguments[1]), max_size=2)
    if get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        return st.lists(anything(arguments[0]), max_size=2).map(tuple)
    assert get_origin(hint) is tuple, hint
    return st.tuples(*map(anything, arguments))


def typed(value: object) -> str:
    """A form in which 1, 1.0 and True differ."""
    return repr(value)


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(launch=anything(Launch), result=anything(RunResult))
def test_what_is_stored_comes_back_equal(launch: Launch, result: RunResult) -> None:
    result = replace(result, host=launch.environment.facts.get("host.name"))  # it is the launch's
    with TemporaryDirectory() as folder:
        with RunStore.create(Path(folder), PLAN) as store:
            store.add_result(store.add_launch(launch), result)

        with RunStore.open(Path(folder)) as store:
            launches, results = store.launches(), list(store.results())

    assert (launches, results) == ([launch], [result])
    assert typed(launches) == typed([launch])
    assert typed(results) == typed([result])


@pytest.mark.parametrize(
    ("record", "table"),
    [
        (RequestCompleted, "requests"),
        (RequestFailed, "requests"),
        (DecodeWindow, "decode_windows"),
        (PrefillWindow, "prefill_windows"),
    ],
)
def test_every_field_of_a_record_has_a_column(record: Any, table: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)

    columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}

    assert columns >= {field.name for field in fields(record)}
    connection.close()


def test_unpaired_surrogates_are_spelt_out_rather_than_lost() -> None:
    row = to_row(RequestFailed("p\ud83d", 0.0, 0.0, "half a smile: \ud83d"))

    assert from_row(RequestFailed, row).reason == "half a smile: \\ud83d"
    assert row["prompt_id"] == "p\\ud83d"


def test_a_field_that_an_older_run_lacks_takes_its_default() -> None:
    stored = to_json(ServerConfig("attach", "m", None, speculation=_none(), max_running_requests=1))

    older = stored.replace(',"ready_timeout_s":900.0', "")

    assert older != stored
    assert from_json(ServerConfig, older).ready_timeout_s == 900.0


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"engine": 7}', "null"])
def test_a_document_that_ddbench_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(RunError, match="did not write"):
        from_json(ServerConfig, text)


def test_a_damaged_array_is_refused() -> None:
    row = to_row(_request())

    with pytest.raises(RunError, match="whole doubles"):
        from_row(RequestCompleted, row | {"chunk_offsets_s": b"123"})
    with pytest.raises(RunError, match="not JSON"):
        from_row(RequestCompleted, row | {"output_ids": "[1,"})


def test_not_measured_is_not_an_empty_list() -> None:
    empty, unmeasured = replace(_request(), histogram=()), replace(_request(), histogram=None)

    assert from_row(RequestCompleted, to_row(empty)) == empty
    assert from_row(RequestCompleted, to_row(unmeasured)) == unmeasured


def _none() -> Any:
    return get_type_hints(ServerConfig)["speculation"]()


def _request() -> RequestCompleted:
    return RequestCompleted(
        prompt_id="p",
        sent_s=0.0,
        lateness_s=0.0,
        ttft_s=0.1,
        e2e_s=0.2,
        prompt_tokens=1,
        completion_tokens=2,
        output_ids=(1, 2),
        output_logprobs=(-0.5, float("-inf")),
        finish_reason="stop",
        retractions=None,
        cached_tokens=None,
        verify_ct=1,
        correct_drafts=1,
        committed_drafts=None,
        histogram=(0, 1),
        chunk_offsets_s=(0.1, 0.2),
    )
