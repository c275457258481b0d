"""Which arms a prediction may take step times from."""

from dataclasses import replace
from typing import Any

import pytest

from ddbench.predict.recorded import RecordedArm
from ddbench.predict.timed import timed_alike
from ddbench.records import (
    Counters,
    Flags,
    LoadConfig,
    LogExcerpt,
    RunResult,
    ServerConfig,
    Speculation,
    Trial,
)

LINEAR = Speculation("DFLASH", 8)
TREE = Speculation("DDTREE", 8, 31, 4)
NO_GRAPHS: Flags = (("disable-cuda-graph", True),)
SERVER = ServerConfig("sglang", "m", "d", LINEAR, max_running_requests=4, record_drafts=True)
RECORDED = RecordedArm("linear-8-drafts", SERVER, depth=7, topk=16, prompts=(), notes=())


def timed(arm: str, speculation: Speculation, host: str | None = None, **own: Any) -> RunResult:
    server = replace(SERVER, record_drafts=False, speculation=speculation, **own)
    return RunResult(
        key=arm,
        trial=Trial(arm, server, LoadConfig("builtin:mixed", 4, 1, 16)),
        started_at="2026-01-01T00:00:00+00:00",
        requests=(),
        wall_s=1.0,
        client=None,
        log=LogExcerpt(),
        counters_before=Counters(),
        counters_after=Counters(),
        failure=None,
        host=host,
    )


def arms_of(results: tuple[RunResult, ...]) -> list[str]:
    return [result.trial.arm for result in results]


def test_arms_with_other_flags_than_the_recording_are_left_out_by_name() -> None:
    results = [
        timed("linear", LINEAR),
        timed("tree", TREE),
        timed("linear-no-graphs", LINEAR, flags=NO_GRAPHS),
        timed("tree-no-graphs", TREE, flags=NO_GRAPHS),
    ]

    found = timed_alike(RECORDED, results)

    assert arms_of(found.results) == ["linear", "tree"]
    (note,) = found.notes
    assert note.startswith("Left out of all speeds: linear-no-graphs, tree-no-graphs, whose flags")


def test_a_recording_with_flags_of_its_own_speaks_for_the_set_up_of_most_trees() -> None:
    recorded = replace(RECORDED, server=replace(SERVER, flags=(("dtype", "float32"),)))
    results = [timed("linear-no-graphs", LINEAR, flags=NO_GRAPHS), timed("tree", TREE)]

    assert arms_of(timed_alike(recorded, results).results) == ["tree"]


def test_what_a_server_logs_makes_no_other_set_up() -> None:
    results = [
        timed("linear", LINEAR),
        timed("tree", TREE, flags=(("decode-log-interval", 4),)),
    ]

    found = timed_alike(RECORDED, results)

    assert (arms_of(found.results), found.notes) == (["linear", "tree"], ())


def test_patched_trees_beside_a_stock_line_are_labelled() -> None:
    found = timed_alike(RECORDED, [timed("line", LINEAR), timed("tree", TREE, patches="ddtree")])

    assert arms_of(found.results) == ["line", "tree"]
    assert found.notes == (
        "line ran with no patches, the trees with patches ddtree: what lies between their speeds "
        "may be the patches'.",
    )


def test_a_line_of_the_trees_own_build_is_preferred_to_a_stock_one() -> None:
    results = [
        timed("stock", LINEAR),
        timed("patched", LINEAR, patches="ddtree"),
        timed("tree", TREE, patches="ddtree"),
    ]

    found = timed_alike(RECORDED, results)

    assert arms_of(found.results) == ["patched", "tree"]
    assert found.notes[0].startswith("Left out of all speeds: stock, ")


def test_trees_of_two_builds_are_never_averaged() -> None:
    results = [
        timed("tree", TREE, patches="ddtree"),
        timed("wide", replace(TREE, budget=63), patches="ddtree"),
        timed("own", TREE, patches="/my/series"),
    ]

    assert arms_of(timed_alike(RECORDED, results).results) == ["tree", "wide"]


@pytest.mark.parametrize(("host", "notes"), [("a", 0), ("b", 1)])
def test_arms_timed_on_different_hosts_are_labelled(host: str, notes: int) -> None:
    results = [timed("linear", LINEAR, host="a"), timed("tree", TREE, host=host)]

    assert len(timed_alike(RECORDED, results).notes) == notes
