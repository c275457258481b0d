"""Which trees a prediction asks to be run, from invented drafts and invented step times."""

from collections.abc import Sequence

from ddbench.predict.acceptance import acceptance
from ddbench.predict.forecast import Forecaster
from ddbench.predict.next_sweep import settings_to_measure
from ddbench.predict.recorded import RecordedArm
from ddbench.predict.replay import Grid
from ddbench.predict.step_time import Cell, Cost
from ddbench.records import Speculation


def to_measure(
    invented_arm: RecordedArm, *, asked: Sequence[int], timed: Sequence[int], graphs: bool = False
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
    grid = acceptance(invented_arm.prompts, Grid((2, 6), tuple(asked)))
    forecaster = Forecaster(invented_arm, grid, cells)
    wanted = settings_to_measure(forecaster, {1: forecaster.candidates(1)})
    assert not {(s.budget, s.topk) for s in wanted} & {(budget, 6) for budget in timed}
    return [setting.budget for setting in wanted]


def test_the_widest_tree_asked_for_is_run_where_step_times_end_before_it(
    invented_arm: RecordedArm,
) -> None:
    assert 40 in to_measure(invented_arm, asked=range(7, 41), timed=[7, 15, 31])


def test_the_narrowest_is_run_where_the_widest_was_timed(invented_arm: RecordedArm) -> None:
    """A timed tree is never asked for again."""
    wanted = to_measure(invented_arm, asked=range(4, 32), timed=[15, 31])

    assert 4 in wanted
    assert 31 not in wanted


def test_with_graphs_the_first_width_behind_an_edge_opens_what_lies_there(
    invented_arm: RecordedArm,
) -> None:
    """Widths 16 and 32 lie on two sides of the edge at 16: a tree of 16 nodes is 17 wide."""
    assert 16 in to_measure(invented_arm, asked=range(15, 32), timed=[15, 31], graphs=True)
