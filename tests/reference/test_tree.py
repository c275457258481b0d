"""The builder against enumeration, the mask against following parents by hand."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ddbench.reference.tree import DraftTree, ancestor_mask, build_tree, children, depths
from ddbench.reference.verify import greedy_walk

ROOT_TOKEN = 99


@st.composite
def drafts(draw):
    """(L, K) log-probabilities on a coarse grid, so that equal weights are common, and tokens."""
    length, topk = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    # Multiples of 1/4 add up exactly: sums that are equal on paper are equal in float64.
    row = st.lists(st.integers(-6, 0), min_size=topk, max_size=topk)
    rows = draw(st.lists(row, min_size=length, max_size=length))
    log_probs = torch.tensor([sorted(r, reverse=True) for r in rows], dtype=torch.float64) / 4
    tokens = torch.stack([torch.randperm(8)[:topk] for _ in range(length)])
    return log_probs, tokens


def random_drafts(seed, length, topk, vocab=50):
    rng = torch.Generator().manual_seed(seed)
    log_probs = torch.log_softmax(2 * torch.randn(length, vocab, generator=rng), dim=-1)
    return log_probs.topk(topk)


def every_prefix(length, topk):
    """All rank tuples of depth 1 to length."""
    return [
        ranks
        for depth in range(1, length + 1)
        for ranks in itertools.product(range(topk), repeat=depth)
    ]


def path_tokens(tree, node):
    path = []
    while node:
        path.insert(0, int(tree.token_ids[node]))
        node = int(tree.parents[node])
    return tuple(path)


@given(drafts(), st.integers(1, 40))
def test_holds_the_most_probable_prefixes_in_order(draft, budget):
    log_probs, tokens = draft
    length, topk = log_probs.shape

    tree = build_tree(ROOT_TOKEN, log_probs, tokens, budget)

    def weight(ranks):
        return math.fsum(float(log_probs[i, rank]) for i, rank in enumerate(ranks))

    best = sorted(every_prefix(length, topk), key=lambda ranks: (-weight(ranks), ranks))[:budget]
    assert [path_tokens(tree, node) for node in range(1, tree.parents.numel())] == [
        tuple(int(tokens[i, rank]) for i, rank in enumerate(ranks)) for ranks in best
    ]
    assert tree.log_weights[1:].tolist() == [weight(ranks) for ranks in best]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("length", "topk", "budget"), [(3, 2, 4), (2, 3, 5), (4, 2, 3)])
def test_no_prefix_closed_set_of_that_size_has_more_probability(seed, length, topk, budget):
    log_probs, tokens = random_drafts(seed, length, topk)
    prefixes = every_prefix(length, topk)
    mass = {
        ranks: math.prod(math.exp(float(log_probs[i, rank])) for i, rank in enumerate(ranks))
        for ranks in prefixes
    }
    closed_sets = [
        nodes
        for nodes in map(set, itertools.combinations(prefixes, budget))
        if all(len(ranks) == 1 or ranks[:-1] in nodes for ranks in nodes)
    ]

    tree = build_tree(ROOT_TOKEN, log_probs, tokens, budget)

    assert len(closed_sets) > 5
    best = max(sum(mass[ranks] for ranks in nodes) for nodes in closed_sets)
    assert float(tree.log_weights[1:].exp().sum()) == pytest.approx(best, rel=1e-9)


@given(drafts(), st.integers(1, 30))
def test_a_smaller_budget_gives_the_first_nodes_of_a_larger_one(draft, budget):
    small = build_tree(ROOT_TOKEN, *draft, budget)

    large = build_tree(ROOT_TOKEN, *draft, budget + 1)

    nodes = small.parents.numel()
    assert large.parents.numel() - nodes in (0, 1)
    assert torch.equal(large.token_ids[:nodes], small.token_ids)
    assert torch.equal(large.parents[:nodes], small.parents)
    assert torch.equal(large.log_weights[:nodes], small.log_weights)


@given(drafts(), st.integers(1, 200))
def test_the_root_is_outside_the_budget_and_the_budget_is_spent_if_it_can_be(draft, budget):
    length, topk = draft[0].shape

    tree = build_tree(ROOT_TOKEN, *draft, budget)

    possible = sum(topk**depth for depth in range(1, length + 1))
    assert tree.parents.numel() == 1 + min(budget, possible)
    assert int(tree.token_ids[0]) == ROOT_TOKEN
    assert float(tree.log_weights[0]) == 0.0
    assert int(depths(tree).max()) <= min(length, budget)


@pytest.mark.parametrize("budget", [1, 4, 7, 12])
def test_one_candidate_a_position_gives_a_chain(budget):
    log_probs, tokens = random_drafts(seed=0, length=7, topk=1)

    tree = build_tree(ROOT_TOKEN, log_probs, tokens, budget)

    length = min(budget, 7)
    assert tree.parents.tolist() == list(range(-1, length))
    assert tree.token_ids.tolist() == [ROOT_TOKEN, *tokens[:length, 0].tolist()]


@pytest.mark.parametrize(("seed", "budget"), [(0, 3), (1, 15), (2, 40)])
def test_the_expected_accepted_depth_is_the_sum_of_node_probabilities(seed, budget):
    """Texts drawn from the drafter itself, walked down its tree (proposition 1).

    The tolerance is 5 standard errors: a fresh seed would fail once in 1.7 million runs.
    """
    rng = torch.Generator().manual_seed(seed)
    full = torch.log_softmax(2 * torch.randn(5, 12, generator=rng, dtype=torch.float64), dim=-1)
    tree = build_tree(ROOT_TOKEN, *full.topk(4), budget)
    draws = 10_000
    texts = torch.multinomial(full.exp(), draws, replacement=True, generator=rng).T  # (draws, 5)
    texts = torch.cat([texts, torch.zeros(draws, 1, dtype=torch.int64)], dim=1)

    depth_of_node = depths(tree)
    accepted = torch.tensor(
        [float(len(greedy_walk(tree, text[depth_of_node])[0])) for text in texts]
    )

    expected = float(tree.log_weights[1:].exp().sum())
    assert abs(float(accepted.mean()) - expected) < 5 * float(accepted.std()) / math.sqrt(draws)


@given(drafts(), st.integers(1, 30))
def test_a_node_attends_to_its_path_and_to_nothing_else(draft, budget):
    tree = build_tree(ROOT_TOKEN, *draft, budget)

    mask = ancestor_mask(tree)

    for node in range(tree.parents.numel()):
        path, ancestor = [], node
        while ancestor != -1:
            path.append(ancestor)
            ancestor = int(tree.parents[ancestor])
        assert mask[node].nonzero().flatten().tolist() == sorted(path)
        assert int(depths(tree)[node]) == len(path) - 1


def test_a_float32_draft_is_added_up_in_float64():
    log_probs = torch.full((7, 1), -0.1, dtype=torch.float32)

    tree = build_tree(ROOT_TOKEN, log_probs, torch.arange(7)[:, None], budget=7)

    assert float(tree.log_weights[7]) == sum([float(log_probs[0, 0])] * 7)


@settings(max_examples=20)
@given(st.integers(-5, 0))
def test_a_budget_below_one_is_refused(budget):
    with pytest.raises(ValueError, match="budget"):
        build_tree(ROOT_TOKEN, *random_drafts(0, 3, 2), budget)


@pytest.mark.parametrize(
    ("log_probs", "token_ids", "says"),
    [
        ([[-2.0, -1.0]], [[1, 2]], "best first"),
        ([[-1.0, math.nan]], [[1, 2]], "numbers"),
        ([[-1.0, -2.0]], [[1, 2], [3, 4]], "want"),
        ([-1.0, -2.0], [1, 2], "want"),
        ([[-1.0, -2.0]], [[5, 5]], "same token"),
    ],
)
def test_a_draft_that_makes_no_sense_is_refused(log_probs, token_ids, says):
    with pytest.raises(ValueError, match=says):
        build_tree(ROOT_TOKEN, torch.tensor(log_probs), torch.tensor(token_ids), budget=3)


@pytest.mark.parametrize(
    ("parents", "says"),
    [
        ([0, 0, 0], "root"),
        ([], "root"),
        ([-1, 2, 1], "before its children"),
        ([-1, 1, 0], "before its children"),
        ([-1, -1, 0], "only node 0"),
        ([-1, 0, 0], "same token"),
        ([-1, 0], "want"),
    ],
)
def test_a_tree_that_is_none_is_refused(parents, says):
    nodes = 3 if parents else 0
    token_ids = torch.full((nodes,), 7)

    with pytest.raises(ValueError, match=says):
        DraftTree(token_ids, torch.tensor(parents, dtype=torch.int64), torch.zeros(nodes).double())


def test_node_indices_of_another_dtype_are_refused():
    with pytest.raises(ValueError, match="int32"):
        DraftTree(torch.tensor([1], dtype=torch.int32), torch.tensor([-1]), torch.zeros(1).double())


def test_children_are_found_by_parent_and_token():
    tree = DraftTree(
        torch.tensor([9, 4, 5, 4]), torch.tensor([-1, 0, 0, 1]), torch.zeros(4).double()
    )

    assert children(tree) == {(0, 4): 1, (0, 5): 2, (1, 4): 3}
