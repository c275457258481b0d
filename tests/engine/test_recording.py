"""`--record-drafts`: one token a step, the same answers, and every position's drafts on file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ddbench.draft_records import read_recording
from ddbench.engine.arguments import parse_arguments
from ddbench.engine.loading import load_engine
from ddbench.errors import EngineError

LINEAR = (
    *("--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", "builtin"),
    *("--max-running-requests", "4"),
)
MODEL = ("--model-path", "builtin")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_answers_are_those_of_a_server_that_does_not_record(
    new_lab: Callable[..., Any],
    prompts: list[tuple[int, ...]],
    ask: Callable[..., Any],
    tmp_path: Path,
    temperature: float,
) -> None:
    sampling = {"temperature": temperature, "seed": 3}
    plain, recording = (
        new_lab(*LINEAR),
        new_lab(*LINEAR, "--record-drafts", str(tmp_path / "x.drafts")),
    )

    expected, found = (
        lab.answers([ask(p, logprobs=False, **sampling) for p in prompts])
        for lab in (plain, recording)
    )

    plain.close()
    recording.close()
    recording.engine.recorder.close()
    assert [g.output_ids for g in found] == [g.output_ids for g in expected]
    assert all(g.verify_ct == len(g.output_ids) - 1 for g in found)
    assert all(g.correct_drafts == 0 for g in found)
    recorded = {a.rid: a.output_ids for a in read_recording(tmp_path / "x.drafts").answers}
    assert recorded == {g.request.rid: g.output_ids for g in found}


def test_what_is_recorded_first_is_what_a_linear_step_drafts(
    new_lab: Callable[..., Any],
    prompts: list[tuple[int, ...]],
    ask: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Positions at which a linear server began a step, from its own trace."""
    import orjson

    trace, drafts = tmp_path / "steps.jsonl", tmp_path / "x.drafts"
    linear = new_lab(*LINEAR, "--step-trace", str(trace))
    recording = new_lab(*LINEAR, "--record-drafts", str(drafts))
    stepped = linear.answers([ask(p, logprobs=False) for p in prompts])
    recorded = recording.answers([ask(p, logprobs=False) for p in prompts])
    linear.close()
    recording.close()
    recording.engine.recorder.close()
    twin = {a.request.rid: b.request.rid for a, b in zip(stepped, recorded, strict=True)}
    prompt_len = {g.request.rid: g.prompt_len for g in stepped}
    file = read_recording(drafts)
    answers = {answer.rid: file.drafts(answer) for answer in file.answers}

    steps = [orjson.loads(line) for line in trace.read_bytes().splitlines()]

    assert len(steps) > 50
    for step in steps:
        token_ids, log_probs = answers[twin[step["rid"]]]
        position = step["prefix_len"] - prompt_len[step["rid"]]
        assert token_ids[position, :, 0].tolist() == step["tokens"][1:]
        sums = np.cumsum(log_probs[position, :, 0], dtype=np.float64)
        assert sums == pytest.approx(step["log_weights"][1:], abs=1e-4)


@pytest.mark.parametrize(
    "flags",
    [(), ("--speculative-algorithm", "DDTREE", "--speculative-draft-model-path", "builtin")],
)
def test_only_linear_drafts_are_recorded(
    flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_arguments([*MODEL, *flags, "--record-drafts", "x"])

    assert "--record-drafts needs --speculative-algorithm DFLASH" in capsys.readouterr().err


def test_a_file_that_exists_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "x.drafts").write_bytes(b"mine")

    with pytest.raises(EngineError, match="drafts cannot be recorded"):
        load_engine(
            parse_arguments([*MODEL, *LINEAR, "--record-drafts", str(tmp_path / "x.drafts")])
        )

    assert (tmp_path / "x.drafts").read_bytes() == b"mine"
