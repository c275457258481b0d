"""Acceptance by group, by depth and by node, held against sums by hand."""

from dataclasses import replace

import pytest

from ddbench.compare.acceptance import (
    budget_steps,
    by_category,
    by_prompt_length,
    category_of,
    survival,
)
from ddbench.compare.arms import ComparedArm

Arms = dict[str, ComparedArm]


def test_categories_come_from_the_ids_of_the_built_in_prompts(quickstart: Arms) -> None:
    linear, tree = quickstart["linear-8"].at(1), quickstart["tree-8-31-4"].at(1)
    code = [r for trial in tree for r in trial.completed if r.prompt_id.startswith("code-")]
    by_hand = sum(r.completion_tokens - 1 for r in code) / sum(r.verify_ct or 0 for r in code)

    groups = {group.name: group for group in by_category(linear, tree)}

    assert set(groups) == {"arithmetic", "code", "json", "logs", "prose"}
    assert sum(group.prompts for group in groups.values()) == 48
    assert groups["code"].second.value == pytest.approx(by_hand)
    assert groups["code"].ratio.value == pytest.approx(by_hand / groups["code"].first.value)
    assert groups["code"].ratio.low is None  # ten prompts allow no interval


def test_ids_of_another_form_have_no_category() -> None:
    assert category_of("json-like-007") == "json-like"
    assert category_of("7f3a") is None
    assert category_of("q-") is None


def test_prompts_fall_into_buckets_that_double(quickstart: Arms) -> None:
    sides = []
    for name in ("linear-8", "tree-8-31-4"):
        (trial, _) = quickstart[name].at(1)
        requests = tuple(
            replace(r, prompt_tokens=(40, 64, 127, 128, 300)[i % 5])
            for i, r in enumerate(trial.completed)
        )
        sides.append([replace(trial, requests=requests)])

    names = [group.name for group in by_prompt_length(*sides)]

    assert set(names) == {
        "under 64 tokens",
        "64 to 127 tokens",
        "128 to 255 tokens",
        "256 to 511 tokens",
    }
    assert by_prompt_length(quickstart["linear-8"].at(1), quickstart["tree-8-31-4"].at(1)) == []


def test_survival_falls_and_is_the_product_of_conditional_acceptance(quickstart: Arms) -> None:
    depths = survival(quickstart["tree-8-31-4"].at(1))

    shares = [depth.survival.value for depth in depths]
    product = 1.0
    for depth in depths:
        assert depth.conditional is not None
        product *= depth.conditional.value
        assert depth.survival.value == pytest.approx(product)
    assert len(shares) == 7
    assert shares == sorted(shares, reverse=True)


def test_survival_adds_up_to_the_mean_number_of_accepted_drafts(quickstart: Arms) -> None:
    trials = quickstart["linear-8"].at(1)
    requests = [r for trial in trials for r in trial.completed]
    drafts = sum(r.correct_drafts or 0 for r in requests)
    steps = sum(r.verify_ct or 0 for r in requests)

    depths = survival(trials)

    assert sum(depth.survival.value for depth in depths) == pytest.approx(drafts / steps)


def test_an_arm_without_histograms_has_no_survival(quickstart: Arms) -> None:
    assert survival(quickstart["autoregressive"].at(1)) == []


def test_trees_that_differ_in_more_than_budget_have_no_gain_a_node(quickstart: Arms) -> None:
    smaller, larger = quickstart["tree-8-7-4"], quickstart["tree-8-15-4"]
    patched = replace(larger, server=replace(larger.server, patches="ddtree"))
    flagged = replace(larger, server=replace(larger.server, flags=(("disable-cuda-graph", True),)))

    assert len(budget_steps([smaller, larger], 1)) == 1
    assert budget_steps([smaller, patched], 1) == []
    assert budget_steps([smaller, flagged], 1) == []


def test_each_tree_is_held_against_the_next_larger_of_its_topk(quickstart: Arms) -> None:
    steps = budget_steps(list(quickstart.values()), 1)

    assert [(s.smaller, s.larger, s.nodes) for s in steps] == [
        ("tree-8-7-4", "tree-8-15-4", 8),
        ("tree-8-15-4", "tree-8-31-4", 16),
    ]
    assert steps[0].gain_a_node.value > steps[1].gain_a_node.value > 0.0
    for step in steps:
        assert step.gain_a_node.low is not None
        assert step.gain_a_node.low < step.gain_a_node.value
