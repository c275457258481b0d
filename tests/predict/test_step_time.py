from dataclasses import replace

import pytest

from ddbench.predict.step_time import Cell, Cost, NotPredicted, tree_cost
from ddbench.records import Speculation


def cell(width: int, step_s: float, *, concurrency: int = 1, graphs: bool = False) -> Cell:
    return Cell(
        arm=f"tree-8-{width - 1}-4",
        speculation=Speculation("DDTREE", 8, width - 1, 4),
        concurrency=concurrency,
        width=width,
        cost=Cost(step_s, first_token_s=0.1, occupancy=0.9),
        tokens_per_s=100.0,
        has_graphs=graphs,
    )


LINEAR = replace(cell(8, 0.5), arm="linear-8", speculation=Speculation("DFLASH", 8))
CELLS = [LINEAR, cell(8, 0.010), cell(32, 0.034), cell(16, 0.018, concurrency=4)]


def test_a_timed_width_costs_what_was_measured() -> None:
    assert tree_cost(CELLS, 1, 8) == Cost(0.010, 0.1, 0.9)


def test_between_two_timed_widths_the_cost_is_on_the_line() -> None:
    cost = tree_cost(CELLS, 1, 14)

    assert isinstance(cost, Cost)
    assert cost.step_s == pytest.approx(0.016)
    assert cost.occupancy == pytest.approx(0.9)


def test_arms_of_one_width_are_averaged() -> None:
    assert tree_cost([*CELLS, cell(8, 0.014)], 1, 8) == Cost(pytest.approx(0.012), 0.1, 0.9)


@pytest.mark.parametrize(
    ("concurrency", "width", "why"),
    [
        (1, 7, "widths 8 to 32 only"),
        (1, 33, "widths 8 to 32 only"),
        (4, 17, "widths 16 to 16 only"),
        (8, 16, "no tree was timed at concurrency 8"),
    ],
)
def test_nothing_is_extrapolated(concurrency: int, width: int, why: str) -> None:
    refused = tree_cost(CELLS, concurrency, width)

    assert isinstance(refused, NotPredicted)
    assert why in refused.why


@pytest.mark.parametrize(
    ("low", "high", "width", "crosses"),
    [(9, 16, 12, None), (8, 16, 12, 8), (17, 64, 40, 32), (33, 64, 40, None), (9, 17, 10, 16)],
)
def test_with_graphs_no_line_crosses_a_tile_edge(
    low: int, high: int, width: int, crosses: int | None
) -> None:
    cells = [cell(low, 0.01, graphs=True), cell(high, 0.02, graphs=True)]

    cost = tree_cost(cells, 1, width)

    if crosses is None:
        assert isinstance(cost, Cost)
    else:
        assert cost == NotPredicted(f"timed widths {low} and {high} lie on two sides of {crosses}")
