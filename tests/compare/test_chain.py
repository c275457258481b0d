"""A chain-shaped tree is the line: by test, by token and by step."""

from collections.abc import Callable
from dataclasses import replace

from ddbench.compare.arms import ComparedArm
from ddbench.compare.chain import chain_equivalence
from ddbench.records import RequestCompleted

Arms = dict[str, ComparedArm]
Change = Callable[..., ComparedArm]


def test_the_shipped_chain_is_equivalent_and_identical_at_every_concurrency(
    quickstart: Arms,
) -> None:
    for concurrency in (1, 4, 8):
        found = chain_equivalence(quickstart["linear-8"], quickstart["tree-8-7-1"], concurrency)

        assert found.identical
        assert found.sentence == (
            "equivalent within 1% in tokens/step; "
            "identical tokens in 48 and identical steps in 48 of 48 prompts"
        )


def test_a_chain_that_needs_a_step_more_for_one_prompt_is_equivalent_but_not_identical(
    quickstart: Arms, change_requests: Change
) -> None:
    def slower(request: RequestCompleted) -> RequestCompleted:
        extra = 1 if request.prompt_id == "code-000" else 0
        return replace(request, verify_ct=(request.verify_ct or 0) + extra)

    found = chain_equivalence(
        quickstart["linear-8"], change_requests(quickstart["tree-8-7-1"], slower), 1
    )

    assert found.test is not None
    assert found.test.equivalent
    assert not found.identical
    assert "identical steps in 47 of 48 prompts" in found.sentence


def test_a_chain_that_needs_many_more_steps_is_not_called_equivalent(
    quickstart: Arms, change_requests: Change
) -> None:
    def slower(request: RequestCompleted) -> RequestCompleted:
        return replace(request, verify_ct=(request.verify_ct or 0) + 1)

    found = chain_equivalence(
        quickstart["linear-8"], change_requests(quickstart["tree-8-7-1"], slower), 1
    )

    assert found.test is not None
    assert not found.test.equivalent
    assert found.sentence.startswith("not shown to be equivalent within 1% in tokens/step")


def test_too_few_prompts_test_nothing(quickstart: Arms, change_trials: Change) -> None:
    arms = [
        change_trials(quickstart[name], lambda trial: replace(trial, requests=trial.requests[:12]))
        for name in ("linear-8", "tree-8-7-1")
    ]

    found = chain_equivalence(*arms, 1)

    assert found.test is None
    assert found.sentence.startswith("equivalence in tokens/step cannot be tested with 12 prompts")


def test_only_a_deep_enough_tree_of_one_candidate_is_a_chain(quickstart: Arms) -> None:
    assert [name for name, arm in quickstart.items() if arm.is_chain] == ["tree-8-7-1"]
