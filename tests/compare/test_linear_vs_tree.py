"""The whole comparison: which arms are paired, what is refused, and what force labels."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from ddbench.compare.arms import ComparedArm, arms_of, linear_arm
from ddbench.compare.gate import UNLIKE
from ddbench.compare.linear_vs_tree import compare_linear_with_trees
from ddbench.errors import NotComparable
from ddbench.records import Failure, RequestFailed, RunResult

Arms = dict[str, ComparedArm]
Change = Callable[..., ComparedArm]


def test_every_tree_is_held_against_the_linear_arm(quickstart: Arms) -> None:
    arms = list(quickstart.values())

    found = compare_linear_with_trees(arms, arms)

    assert [(pair.linear, pair.tree) for pair in found.pairs] == [
        ("linear-8", "tree-8-7-4"),
        ("linear-8", "tree-8-15-4"),
        ("linear-8", "tree-8-31-4"),
        ("linear-8", "tree-8-7-1"),
    ]
    assert all([cell.concurrency for cell in pair.cells] == [1, 4, 8] for pair in found.pairs)
    assert [len(pair.chain) for pair in found.pairs] == [0, 0, 0, 3]
    assert found.refused == {}


def test_the_verdict_keeps_tokens_per_step_and_throughput_apart(quickstart: Arms) -> None:
    arms = list(quickstart.values())

    (pair,) = compare_linear_with_trees(arms, arms, tree="tree-8-31-4").pairs

    for cell in pair.cells:
        assert cell.verdicts["tokens_per_step"] == "better"
        assert cell.verdicts["tokens_per_s"] == "undecided"
        assert "2 pairs of repeats" in cell.detectable["tokens_per_s"]
        assert pair.label_of(cell) is None


def test_two_arms_of_different_models_are_refused_naming_the_weights(
    quickstart: Arms,
) -> None:
    other = [
        replace(arm, facts={**arm.facts, "target.sha256": "0" * 64, "drafter.sha256": "1" * 64})
        for arm in quickstart.values()
    ]

    with pytest.raises(NotComparable, match=r"(?s)target weights: .*drafter weights: "):
        compare_linear_with_trees(list(quickstart.values()), other)


def test_one_tree_that_differs_is_left_out_and_the_others_are_compared(quickstart: Arms) -> None:
    odd = replace(
        quickstart["tree-8-15-4"],
        settings={**quickstart["tree-8-15-4"].settings, "dtype": "bfloat16"},
    )
    arms = list({**quickstart, "tree-8-15-4": odd}.values())

    found = compare_linear_with_trees(arms, arms)

    assert len(found.pairs) == 3
    assert "dtype: float32 against bfloat16" in found.refused["tree-8-15-4"]


def test_force_compares_what_differs_and_labels_every_cell(
    quickstart: Arms, with_logprobs: Arms
) -> None:
    sides = list(quickstart.values()), list(with_logprobs.values())

    with pytest.raises(NotComparable, match="logprobs: False against True"):
        compare_linear_with_trees(*sides)
    found = compare_linear_with_trees(*sides, force=True)

    assert len(found.pairs) == 4
    for pair in found.pairs:
        assert {difference.what for difference in pair.forced} >= {"logprobs"}
        assert [pair.label_of(cell) for cell in pair.cells] == [UNLIKE]


def test_a_concurrency_with_a_failed_request_is_left_out_and_the_others_stay(
    quickstart: Arms, change_trials: Change
) -> None:
    def lose_one(trial: RunResult) -> RunResult:
        failed = RequestFailed(trial.requests[0].prompt_id, 0.0, 0.0, "reset")
        return replace(trial, requests=(failed, *trial.requests[1:]))

    odd = change_trials(quickstart["tree-8-31-4"], lose_one, concurrency=4)
    sides = [quickstart["linear-8"]], [odd]

    (pair,) = compare_linear_with_trees(*sides).pairs
    (forced,) = compare_linear_with_trees(*sides, force=True).pairs

    assert [cell.concurrency for cell in pair.cells] == [1, 8]
    assert "tree-8-31-4: repeat 0: 1 requests failed" in pair.refused[4]
    assert [forced.label_of(cell) for cell in forced.cells] == [None, UNLIKE, None]


def test_the_linear_arm_is_the_one_most_like_the_tree(quickstart: Arms) -> None:
    linear, tree = quickstart["linear-8"], quickstart["tree-8-31-4"]
    wide = replace(
        linear,
        name="linear-16",
        server=replace(linear.server, speculation=replace(linear.speculation, block_size=16)),
    )
    patched = replace(
        linear, name="linear-8-patched", server=replace(linear.server, patches="ddtree")
    )
    patched_tree = replace(tree, server=replace(tree.server, patches="ddtree"))
    overlapped = replace(
        linear,
        name="linear-8-overlap",
        settings={**linear.settings, "disable_overlap_schedule": "false"},
    )
    arms = [wide, overlapped, linear, patched]

    assert linear_arm(arms, None, beside=tree).name == "linear-8"
    assert linear_arm(arms, None, beside=patched_tree).name == "linear-8-patched"
    assert linear_arm(arms, "linear-16", beside=tree).name == "linear-16"


def test_a_patch_is_priced_by_naming_two_linear_arms(quickstart: Arms) -> None:
    stock = quickstart["linear-8"]
    patched = replace(stock, name="patched", server=replace(stock.server, patches="ddtree"))

    (pair,) = compare_linear_with_trees(
        [stock, patched], [stock, patched], linear="linear-8", tree="patched"
    ).pairs

    assert [label.what for label in pair.labels] == ["patches"]
    assert pair.cells[0].verdicts["tokens_per_step"] == "equivalent"


def test_arms_that_are_missing_are_refused_with_the_names_there_are(quickstart: Arms) -> None:
    arms = list(quickstart.values())
    plain = [quickstart["autoregressive"]]

    for call in (
        lambda: compare_linear_with_trees(arms, arms, tree="tree-9"),
        lambda: compare_linear_with_trees(arms, plain),
        lambda: compare_linear_with_trees(plain, arms),
        lambda: compare_linear_with_trees(arms, arms, linear="linear-8", tree="linear-8"),
    ):
        with pytest.raises(NotComparable) as error:
            call()
        assert "--tree" in error.value.remedy or "--linear" in error.value.remedy


def test_failed_trials_and_probes_are_not_compared(quickstart: Arms) -> None:
    trials = quickstart["linear-8"].trials
    failed = replace(trials[0], failure=Failure("unknown", "", ""))
    load = replace(trials[1].trial.load, record_drafts=True)
    probe = replace(trials[1], trial=replace(trials[1].trial, load=load))

    (arm,) = arms_of("run", [], [failed, probe, *trials[2:]])

    assert len(arm.trials) == len(trials) - 2
    assert arms_of("run", [], [failed]) == []


def test_an_open_loop_has_no_concurrency_to_pair_at(
    quickstart: Arms, change_trials: Callable[..., ComparedArm]
) -> None:
    def opened(trial: RunResult) -> RunResult:
        load = replace(trial.trial.load, concurrency=0, rate_per_s=float(trial.trial.repeat + 2))
        return replace(trial, trial=replace(trial.trial, load=load))

    arms = [change_trials(quickstart[name], opened) for name in ("linear-8", "tree-8-31-4")]

    with pytest.raises(NotComparable, match="linear-8 ran in an open loop"):
        compare_linear_with_trees(arms, arms)
