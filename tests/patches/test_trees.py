"""The trees, masks and walks of the patch series are those of ddbench's reference."""

from types import ModuleType

import pytest
import torch
from torch import Tensor

from ddbench.reference.tree import DraftTree, ancestor_mask, build_tree, depths
from ddbench.reference.verify import greedy_walk
from ddbench.sglang_plugin.verify_mask import split_custom_mask

ROOT = 7
VOCABULARY = 50
SEEDS = range(15)


def candidates(seed: int) -> tuple[Tensor, Tensor, int]:
    """Log-probabilities and tokens (L, K), and a budget. Every third has many equal logits."""
    generator = torch.Generator().manual_seed(seed)
    depth, topk, budget = (
        int(torch.randint(1, most, (1,), generator=generator)) for most in (16, 8, 65)
    )
    logits = 3 * torch.randn(depth, VOCABULARY, generator=generator)
    if seed % 3 == 0:
        logits = logits.round()
    log_probs, token_ids = logits.log_softmax(dim=-1).topk(topk, dim=-1)
    return log_probs, token_ids, budget


def reference(seed: int) -> DraftTree:
    log_probs, token_ids, budget = candidates(seed)
    return build_tree(ROOT, log_probs, token_ids, budget)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_builder_takes_the_reference_trees_nodes_in_their_order(
    ddtree_utils: ModuleType, seed: int
) -> None:
    tree = ddtree_utils.build_ddtree_tree_from_topk(*candidates(seed))

    expected = reference(seed)
    assert tree.token_ids[1:] == expected.token_ids.tolist()[1:]
    assert tree.parents == expected.parents.tolist()
    assert tree.depths == depths(expected).tolist()
    assert tree.log_weights == expected.log_weights.tolist()
    assert tree.drafted_nodes == expected.parents.numel() - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_batched_builder_of_0_5_23_takes_them_too(
    ddtree_tree_0_5_23: ModuleType, seed: int
) -> None:
    """Three requests at once: these candidates, and the same ones less and more certain."""
    log_probs, token_ids, _ = candidates(seed)
    budget = reference(seed).parents.numel() - 1
    batch = torch.stack([(power * log_probs).log_softmax(dim=-1) for power in (1.0, 0.3, 4.0)])

    trees = ddtree_tree_0_5_23.build_trees(batch, token_ids.expand(3, -1, -1), budget)

    for row, weights in enumerate(batch):
        expected = build_tree(ROOT, weights, token_ids, budget)
        assert trees.tokens[row].tolist() == expected.token_ids.tolist()[1:]
        assert trees.parents[row].tolist() == expected.parents.tolist()[1:]
        assert trees.log_weights[row].tolist() == expected.log_weights.tolist()[1:]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_walk_is_the_reference_walk(ddtree_utils: ModuleType, seed: int) -> None:
    tree = ddtree_utils.build_ddtree_tree_from_topk(*candidates(seed))
    generator = torch.Generator().manual_seed(1000 + seed)
    posterior = torch.randint(0, VOCABULARY, (len(tree.parents),), generator=generator)
    for node, children in enumerate(tree.child_maps):
        if children and torch.rand(1, generator=generator) < 0.7:  # else most walks end at once
            tokens = sorted(children)
            posterior[node] = tokens[int(torch.randint(0, len(tokens), (1,), generator=generator))]

    path, bonus = ddtree_utils.follow_verified_tree(tree.child_maps, posterior.tolist())

    assert path[0] == 0
    assert (path[1:], bonus) == greedy_walk(reference(seed), posterior)


def test_every_node_sees_itself_and_its_ancestors(ddtree_utils: ModuleType) -> None:
    """Trees of one size: nine nodes of each."""
    seeds = [1, 2, 4]
    built = [(log_probs, token_ids, 9) for log_probs, token_ids, _ in map(candidates, seeds)]
    trees = [ddtree_utils.build_ddtree_tree_from_topk(*arguments) for arguments in built]

    token_ids, node_depths, visible = ddtree_utils.stack_trees(trees, [ROOT, 8, 9])

    for row, root in enumerate([ROOT, 8, 9]):
        tree = build_tree(root, *built[row])
        assert token_ids[row].tolist() == tree.token_ids.tolist()
        assert node_depths[row].tolist() == depths(tree).tolist()
        assert torch.equal(visible[row], ancestor_mask(tree))


def test_the_flat_mask_is_sglangs_full_mask_layout(ddtree_utils: ModuleType) -> None:
    visible = torch.rand(2, 6, 6, generator=torch.Generator().manual_seed(0)) < 0.5

    mask = ddtree_utils.full_attention_mask(visible, [5, 0])

    assert mask.numel() == 6 * (5 + 6) + 6 * 6
    assert torch.equal(torch.stack(split_custom_mask(mask, [5, 0], 6)), visible)


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_candidates_are_those_of_the_whole_vocabulary_however_it_is_spread(
    ddtree_utils: ModuleType, ranks: int
) -> None:
    """Each rank has columns in an order of its own, and knows them by token only."""
    topk = 4
    generator = torch.Generator().manual_seed(ranks)
    logits = torch.randn(6, VOCABULARY, generator=generator)
    shares = torch.randperm(VOCABULARY, generator=generator).chunk(ranks)

    parts = [ddtree_utils.top_k_of_vocab(logits[:, share], share, topk) for share in shares]
    top_logits, top_ids, log_z = (torch.stack(part) for part in zip(*parts, strict=True))
    log_probs, token_ids = ddtree_utils.merge_ranks(top_logits, top_ids, log_z, topk)

    expected = logits.log_softmax(dim=-1).topk(topk, dim=-1)
    assert torch.equal(token_ids, expected.indices)
    torch.testing.assert_close(log_probs, expected.values)


def test_a_rank_with_fewer_columns_than_candidates_adds_none(ddtree_utils: ModuleType) -> None:
    logits = torch.tensor([[1.0, 5.0, 3.0, 2.0, 4.0]])
    shares = torch.tensor([0]), torch.tensor([1, 2, 3, 4])

    parts = [ddtree_utils.top_k_of_vocab(logits[:, share], share, 3) for share in shares]
    top_logits, top_ids, log_z = (torch.stack(part) for part in zip(*parts, strict=True))
    log_probs, token_ids = ddtree_utils.merge_ranks(top_logits, top_ids, log_z, 3)

    assert token_ids.tolist() == [[1, 4, 2]]
    torch.testing.assert_close(log_probs, logits.log_softmax(dim=-1)[:, [1, 4, 2]])


def test_equal_logits_go_by_token_so_that_the_first_is_dflashs_argmax(
    ddtree_utils: ModuleType,
) -> None:
    logits = torch.tensor([[2.0, 9.0, 9.0, 9.0, 1.0]], dtype=torch.bfloat16)
    tokens = torch.tensor([40, 33, 22, 11, 0])

    _, token_ids, _ = ddtree_utils.top_k_of_vocab(logits, tokens, 3)

    assert token_ids.tolist() == [[11, 22, 33]]


def test_the_log_lines_means_are_of_request_steps(ddtree_step: ModuleType) -> None:
    window = ddtree_step.DDTreeStep()
    window.add(ddtree_step.DDTreeStep(requests=1, accepted_depth=3, committed=4, tree_nodes=7))
    window.add(ddtree_step.DDTreeStep(requests=3, accepted_depth=5, committed=8, tree_nodes=21))

    assert window.means() == (2.0, 3.0, 7.0)
