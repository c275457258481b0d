"""What graphs are worth is told from arms that differ in graphs alone."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from ddbench.compare.arms import ComparedArm
from ddbench.compare.graphs import graph_factors
from ddbench.compare.linear_vs_tree import compare_linear_with_trees
from ddbench.records import RequestFailed, RunResult

Arms = dict[str, ComparedArm]
Change = Callable[..., ComparedArm]


@pytest.fixture
def with_graphs(quickstart: Arms, change_trials: Change) -> ComparedArm:
    """linear-8, at twice its speed and from graphs."""

    def faster(trial: RunResult) -> RunResult:
        windows = tuple(replace(window, graph=True) for window in trial.log.decode)
        log = replace(trial.log, decode=windows)
        return replace(trial, wall_s=(trial.wall_s or 0.0) / 2, log=log)

    linear = quickstart["linear-8"]
    settings = {**linear.settings, "disable_cuda_graph": "false"}
    return replace(change_trials(linear, faster), name="with-graphs", settings=settings)


def test_graphs_are_priced_whichever_arm_came_first(
    quickstart: Arms, with_graphs: ComparedArm
) -> None:
    arms = [quickstart["linear-8"], quickstart["tree-8-7-1"], with_graphs]

    for order in (arms, arms[::-1]):
        found = graph_factors(order)

        assert [(f.with_graphs, f.without) for f in found] == [("with-graphs", "linear-8")] * 3
        assert [f.concurrency for f in found] == [1, 4, 8]
        assert [f.tokens_per_s.value for f in found] == pytest.approx([2.0, 2.0, 2.0])


def test_arms_that_differ_in_more_than_graphs_price_nothing(
    quickstart: Arms, with_graphs: ComparedArm
) -> None:
    other_dtype = replace(with_graphs, settings={**with_graphs.settings, "dtype": "bfloat16"})
    patched = replace(with_graphs, server=replace(with_graphs.server, patches="ddtree"))

    for arm in (other_dtype, patched):
        assert graph_factors([quickstart["linear-8"], arm]) == []


def test_a_trial_with_a_failed_request_prices_nothing(
    quickstart: Arms, with_graphs: ComparedArm, change_trials: Change
) -> None:
    def broken_off(trial: RunResult) -> RunResult:
        first, *others = trial.requests
        failed = RequestFailed(first.prompt_id, first.sent_s, first.lateness_s, "connection reset")
        return replace(trial, requests=(failed, *others))

    broken = change_trials(with_graphs, broken_off, concurrency=4)

    found = graph_factors([quickstart["linear-8"], broken])

    assert [f.concurrency for f in found] == [1, 8]


def test_the_comparison_has_the_factor_and_still_refuses_to_mix_the_two(
    quickstart: Arms, with_graphs: ComparedArm
) -> None:
    arms = [*quickstart.values(), with_graphs]

    found = compare_linear_with_trees(arms, arms, tree="tree-8-31-4")

    assert [pair.linear for pair in found.pairs] == ["linear-8"]
    assert len(found.graphs) == 3
