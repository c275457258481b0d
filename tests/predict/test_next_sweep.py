"""Which trees a prediction asks to be run, from invented drafts and invented step times."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ddbench.draft_records import DraftRecorder, read_recording
from ddbench.predict.acceptance import acceptance
from ddbench.predict.forecast import Forecaster
from ddbench.predict.next_sweep import settings_to_measure
from ddbench.predict.recorded import RecordedArm, RecordedPrompt
from ddbench.predict.replay import Grid
from ddbench.predict.step_time import Cell, Cost
from ddbench.records import ServerConfig, Speculation


@pytest.fixture
def recorded(drafts_of: Callable[..., Any], tmp_path: Path) -> RecordedArm:
    """Three answers, five depths of six candidates."""
    path = tmp_path / "x.drafts"
    recorder = DraftRecorder(path, depth=5, topk=6)
    outputs = {}
    for seed in range(3):
        drafts = drafts_of(seed)
        outputs[f"p{seed}"] = drafts.output_ids.tolist()
        for position, (root, choice) in enumerate(
            zip(drafts.output_ids, drafts.output_ids[1:], strict=False)
        ):
            recorder.write(
                rid=f"p{seed}",
                prompt_len=4,
                position=position,
                root=int(root),
                choice=int(choice),
                token_ids=drafts.token_ids[position],
                log_probs=drafts.log_probs[position],
            )
    recorder.close()
    recording = read_recording(path)
    prompts = tuple(
        RecordedPrompt(answer.rid, tuple(outputs[answer.rid]), recording, answer)
        for answer in recording.answers
    )
    server = ServerConfig("embedded", "m", "d", Speculation("DFLASH", 6), max_running_requests=1)
    return RecordedArm("recorded", server, 5, 6, prompts, ())


def to_measure(
    recorded: RecordedArm, *, asked: Sequence[int], timed: Sequence[int], graphs: bool = False
) -> list[int | None]:
    """The budgets to run; a step takes longer the wider it is."""
    cells = [
        Cell(
            f"tree-6-{budget}-6",
            Speculation("DDTREE", 6, budget, 6),
            concurrency=1,
            width=budget + 1,
            cost=Cost(0.010 + 0.001 * budget, first_token_s=0.1, occupancy=1.0),
            tokens_per_s=100.0,
            has_graphs=graphs,
        )
        for budget in timed
    ]
    grid = acceptance(recorded.prompts, Grid((2, 6), tuple(asked)))
    forecaster = Forecaster(recorded, grid, cells)
    wanted = settings_to_measure(forecaster, {1: forecaster.candidates(1)})
    assert not {(s.budget, s.topk) for s in wanted} & {(budget, 6) for budget in timed}
    return [setting.budget for setting in wanted]


def test_the_widest_tree_asked_for_is_run_where_step_times_end_before_it(
    recorded: RecordedArm,
) -> None:
    assert 40 in to_measure(recorded, asked=range(7, 41), timed=[7, 15, 31])


def test_the_narrowest_is_run_where_the_widest_was_timed(recorded: RecordedArm) -> None:
    """A timed tree is never asked for again."""
    wanted = to_measure(recorded, asked=range(4, 32), timed=[15, 31])

    assert 4 in wanted
    assert 31 not in wanted


def test_with_graphs_the_first_width_behind_an_edge_opens_what_lies_there(
    recorded: RecordedArm,
) -> None:
    """Widths 16 and 32 lie on two sides of the edge at 16: a tree of 16 nodes is 17 wide."""
    assert 16 in to_measure(recorded, asked=range(15, 32), timed=[15, 31], graphs=True)
