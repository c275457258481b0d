"""What DDTREE's arguments resolve to in the series for SGLang 0.5.11, and what it refuses."""

from types import ModuleType, SimpleNamespace

import pytest


def given(*, block_size: int = 8, **others: object) -> SimpleNamespace:
    """Arguments as DFLASH's rules leave them: num_draft_tokens is still the block size."""
    return SimpleNamespace(
        **{
            "speculative_algorithm": "DDTREE",
            "speculative_num_draft_tokens": block_size,
            "speculative_dflash_block_size": None,
            "speculative_ddtree_budget": None,
            "speculative_ddtree_topk": None,
            "speculative_eagle_topk": 1,
            "page_size": 1,
            "disaggregation_mode": "null",
            **others,
        }
    )


@pytest.mark.parametrize(
    ("block_size", "budget", "topk", "slots"),
    [(16, 7, 4, 16), (8, 63, 4, 64), (8, 7, 1, 8), (8, None, None, 8)],
)
def test_budget_and_block_size_are_independent(
    ddtree_args: ModuleType, block_size: int, budget: int | None, topk: int | None, slots: int
) -> None:
    args = given(
        block_size=block_size, speculative_ddtree_budget=budget, speculative_ddtree_topk=topk
    )

    ddtree_args.resolve_ddtree_args(args, None)

    assert args.speculative_dflash_block_size == block_size
    assert args.speculative_num_draft_tokens == (budget or block_size - 1) + 1
    assert args.speculative_ddtree_topk == (topk or 4)
    assert ddtree_args.slots_per_step(args) == slots


def test_attention_is_told_of_a_tree_mask_even_for_a_chain(ddtree_args: ModuleType) -> None:
    args = given(speculative_ddtree_budget=7, speculative_ddtree_topk=1)

    ddtree_args.resolve_ddtree_args(args, None)

    assert args.speculative_eagle_topk > 1
    assert ddtree_args.verifies_trees(args)


def test_forced_linear_is_dflash_itself(
    ddtree_args: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGLANG_DDTREE_FORCE", "linear")
    args = given(speculative_ddtree_budget=31)

    ddtree_args.resolve_ddtree_args(args, None)

    assert args == given(speculative_algorithm="DFLASH")


@pytest.mark.parametrize(("budget", "left"), [(31, 7), (4, 4)])
def test_a_forced_chain_is_no_longer_than_the_block(
    ddtree_args: ModuleType, monkeypatch: pytest.MonkeyPatch, budget: int, left: int
) -> None:
    monkeypatch.setenv("SGLANG_DDTREE_FORCE", "chain")
    args = given(speculative_ddtree_budget=budget)

    ddtree_args.resolve_ddtree_args(args, None)

    assert ddtree_args.verifies_trees(args)
    assert (args.speculative_ddtree_budget, args.speculative_ddtree_topk) == (left, 1)
    assert args.speculative_num_draft_tokens == left + 1


def test_a_switch_of_another_name_is_refused(
    ddtree_args: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGLANG_DDTREE_FORCE", "star")

    with pytest.raises(ValueError, match="must be chain or linear, got 'star'"):
        ddtree_args.resolve_ddtree_args(given(), None)


@pytest.mark.parametrize(
    ("changed", "asked_width", "says"),
    [
        ({"speculative_ddtree_budget": 8, "speculative_ddtree_topk": 1}, None, "budget to 7"),
        ({"speculative_ddtree_budget": 0}, None, "at least 1"),
        ({"speculative_ddtree_topk": 0}, None, "at least 1"),
        ({"speculative_ddtree_budget": 31}, 8, "give 32"),
        ({"page_size": 64}, None, "--page-size 1"),
        ({"disaggregation_mode": "decode"}, None, "disaggregation"),
        ({"block_size": 1}, None, "block size of at least 2"),
        ({"speculative_algorithm": "DFLASH", "speculative_ddtree_topk": 4}, None, "DDTREE"),
    ],
)
def test_what_cannot_run_is_refused_in_a_sentence(
    ddtree_args: ModuleType, changed: dict[str, object], asked_width: int | None, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        ddtree_args.resolve_ddtree_args(given(**changed), asked_width)  # type: ignore[arg-type]


def test_the_verify_width_may_be_given_if_it_is_right(ddtree_args: ModuleType) -> None:
    args = given(speculative_ddtree_budget=31)

    ddtree_args.resolve_ddtree_args(args, 32)

    assert args.speculative_num_draft_tokens == 32


def test_other_algorithms_are_left_alone(ddtree_args: ModuleType) -> None:
    args = given(speculative_algorithm="DFLASH")

    ddtree_args.resolve_ddtree_args(args, 8)

    assert args == given(speculative_algorithm="DFLASH")
    assert ddtree_args.slots_per_step(args) == 8
