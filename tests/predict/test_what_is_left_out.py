"""Nothing is left out of a prediction or a validation without a word."""

from dataclasses import replace
from pathlib import Path

import pytest

from ddbench.predict.recorded import RecordedArm, recorded_arm
from ddbench.predict.step_time import measured_cells
from ddbench.predict.validation import notes, passes, validate
from ddbench.records import (
    Counters,
    DecodeWindow,
    Engine,
    Environment,
    Launch,
    LoadConfig,
    LogExcerpt,
    RequestCompleted,
    RequestFailed,
    RequestOutcome,
    RunResult,
    ServerConfig,
    Speculation,
    Trial,
)

TREE = Speculation("DDTREE", 6, 9, 3)


def answer(prompt_id: str, output_ids: tuple[int, ...], verify_ct: int = 1) -> RequestCompleted:
    return RequestCompleted(
        prompt_id=prompt_id,
        sent_s=0.0,
        lateness_s=0.0,
        ttft_s=0.1,
        e2e_s=1.0,
        prompt_tokens=4,
        completion_tokens=len(output_ids),
        output_ids=output_ids,
        output_logprobs=None,
        finish_reason="length",
        retractions=None,
        cached_tokens=None,
        verify_ct=verify_ct,
        correct_drafts=None,
        committed_drafts=None,
        histogram=None,
    )


def trial(
    server: ServerConfig, *requests: RequestOutcome, arm: str = "tree", temperature: float = 0.0
) -> RunResult:
    return RunResult(
        key=arm,
        trial=Trial(arm, server, LoadConfig("x", len(requests), 1, 40, temperature)),
        started_at="2026-01-01T00:00:00+00:00",
        requests=requests,
        wall_s=1.0,
        client=None,
        log=LogExcerpt(),
        counters_before=Counters(),
        counters_after=Counters(),
        failure=None,
    )


def test_answers_without_a_recorded_one_are_counted(invented_arm: RecordedArm) -> None:
    server = replace(invented_arm.server, speculation=TREE)
    known = answer("p0", invented_arm.prompts[0].output_ids)

    arms = validate(invented_arm, [trial(server, known, answer("p9", (1, 2)))])

    assert [(arm.compared, arm.not_recorded) for arm in arms] == [(1, 1)]
    assert list(notes(arms)) == ["tree: 1 answers have no recorded one, and are left out."]


def test_an_arm_with_patches_that_the_recording_had_not_is_named(
    invented_arm: RecordedArm,
) -> None:
    server = replace(invented_arm.server, speculation=TREE, patches="ddtree")

    arms = validate(invented_arm, [trial(server, answer("p0", invented_arm.prompts[0].output_ids))])

    assert list(notes(arms)) == ["tree ran with patches ddtree, which the recording did not."]
    assert not passes(arms)  # one step was not what it took


@pytest.mark.parametrize(("temperature", "is_sampled"), [(0.0, False), (0.7, True)])
def test_what_the_recording_lacks_is_said(
    invented_arm: RecordedArm, tmp_path: Path, temperature: float, is_sampled: bool
) -> None:
    server = replace(invented_arm.server, record_drafts=True)
    launch = Launch(server, (), "x.log", 1.0, Environment({}, {}), None)
    known = [answer(prompt.prompt_id, prompt.output_ids) for prompt in invented_arm.prompts]
    failed = RequestFailed("p9", 0.0, 0.0, "the server aborted the request")
    probe = trial(server, *known, failed, arm="recorded", temperature=temperature)

    found = recorded_arm(tmp_path, [launch], [probe], arm=None)

    said = " ".join(found.notes)
    assert len(found.prompts) == 3
    assert "1 prompts were not answered while drafts were recorded" in said
    assert "The first, p9: the server aborted the request." in said
    assert ("Sampled answers" in said) == is_sampled


@pytest.mark.parametrize(
    ("engine", "graph", "has_graphs"),
    [
        ("sglang", True, True),
        ("sglang", False, False),
        ("sglang", None, True),
        ("attach", None, True),
        ("embedded", None, False),
    ],
)
def test_a_server_that_says_nothing_of_graphs_may_have_them(
    engine: Engine, graph: bool | None, has_graphs: bool
) -> None:
    """Then no line is drawn over the edges at which kernels change."""
    server = ServerConfig(engine, "m", "d", TREE, max_running_requests=1)
    window = DecodeWindow(None, "", 1, 0, 9, 2.0, 0.3, graph, 50.0)

    (cell,) = measured_cells(
        [replace(trial(server, answer("p0", (1, 2, 3))), log=LogExcerpt((window,)))]
    )

    assert cell.has_graphs is has_graphs
