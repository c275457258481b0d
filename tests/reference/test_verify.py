"""Verification against oracles that share no code with it, and against plain decoding."""

import itertools
import random

import pytest
import torch
from scipy import stats

from ddbench.reference.tree import DraftTree, build_tree
from ddbench.reference.verify import greedy_walk, linear_accept, sample_and_walk


def random_tree(rng, nodes, vocab):
    """Any shape; the children of a node carry different tokens."""
    tokens, parents, taken = [0], [-1], set()
    while len(tokens) < nodes:
        parent, token = rng.randrange(len(tokens)), rng.randrange(vocab)
        if (parent, token) not in taken:
            taken.add((parent, token))
            tokens.append(token)
            parents.append(parent)
    return DraftTree(torch.tensor(tokens), torch.tensor(parents), torch.zeros(nodes).double())


def deepest_agreeing_path(tokens, parents, choice):
    """A node agrees if its parent does and it carries the choice made there; take the deepest."""
    agrees, path = [True], [[]]
    for node in range(1, len(tokens)):
        parent = parents[node]
        agrees.append(agrees[parent] and tokens[node] == choice[parent])
        path.append([*path[parent], node])
    return max((p for p, good in zip(path, agrees, strict=True) if good), key=len)


def test_the_walk_takes_the_deepest_path_the_target_agrees_with():
    rng = random.Random(0)
    lengths = []
    for _ in range(4000):
        tree = random_tree(rng, nodes=rng.randint(1, 40), vocab=rng.randint(4, 6))
        tokens, parents = tree.token_ids.tolist(), tree.parents.tolist()
        choice = [rng.randrange(6) for _ in tokens]
        for node, parent in enumerate(parents[1:], start=1):  # mostly agree with some child
            if rng.random() < 0.4:
                choice[parent] = tokens[node]

        accepted, bonus = greedy_walk(tree, torch.tensor(choice))

        assert accepted == deepest_agreeing_path(tokens, parents, choice)
        assert bonus == choice[accepted[-1] if accepted else 0]
        lengths.append(len(accepted))
    assert lengths.count(0) > 100  # the cases are not all of one kind
    assert sum(length >= 3 for length in lengths) > 400


@pytest.mark.parametrize("budget", [1, 3, 7, 9])
def test_a_chain_accepts_what_linear_drafting_does(budget):
    rng = torch.Generator().manual_seed(budget)
    seen = set()
    for _ in range(500):
        log_probs, tokens = torch.log_softmax(torch.randn(7, 3, generator=rng), dim=-1).topk(1)
        choice = tokens.flatten().clone()
        wrong = torch.rand(7, generator=rng) < 0.15
        choice[wrong] = (choice[wrong] + 1) % 3
        choice = torch.cat([choice, torch.tensor([2])])

        correct_drafts, bonus = linear_accept(tokens.flatten(), choice)
        nodes = min(budget, 7) + 1
        tree = build_tree(0, log_probs, tokens, budget)
        accepted, tree_bonus = greedy_walk(tree, choice[:nodes])

        assert accepted == list(range(1, min(correct_drafts, budget) + 1))
        if correct_drafts <= budget:
            assert tree_bonus == bonus
        seen.add(correct_drafts)
    assert seen == set(range(8))


@pytest.mark.parametrize(
    ("drafts", "choice", "correct_drafts", "bonus"),
    [
        ([5, 6, 7], [5, 6, 7, 8], 3, 8),
        ([5, 6, 7], [5, 6, 1, 8], 2, 1),
        ([5, 6, 7], [1, 6, 7, 8], 0, 1),  # later agreement is worth nothing
        ([0, 0, 0], [0, 0, 0, 0], 3, 0),  # token 0 is a token
        ([], [4], 0, 4),
    ],
)
def test_linear_accepts_up_to_the_first_difference(drafts, choice, correct_drafts, bonus):
    drafts = torch.tensor(drafts, dtype=torch.int64)

    assert linear_accept(drafts, torch.tensor(choice)) == (correct_drafts, bonus)


def drafted_tree(rng, next_logits, last, length, topk, budget, noise):
    """A tree from a drafter that follows its own guess of the bigram target, and errs."""
    rows, token = [], last
    for _ in range(length):
        row = torch.log_softmax(
            next_logits[token] + noise * torch.randn(next_logits.shape[1], generator=rng), dim=-1
        )
        rows.append(row)
        token = int(row.argmax())
    return build_tree(last, *torch.stack(rows).topk(topk), budget)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("topk", "budget"), [(1, 5), (2, 6), (4, 20)])
def test_greedy_output_is_that_of_plain_greedy_decoding(seed, topk, budget):
    """On a random bigram target, whatever is drafted leaves the text unchanged."""
    rng = torch.Generator().manual_seed(seed)
    vocab = 12
    next_logits = 2 * torch.randn(vocab, vocab, generator=rng)
    plain = [0]
    while len(plain) <= 60:
        plain.append(int(next_logits[plain[-1]].argmax()))

    text, steps = [0], 0
    while len(text) <= 60:
        tree = drafted_tree(rng, next_logits, text[-1], 6, topk, budget, noise=1.0)
        accepted, bonus = greedy_walk(tree, next_logits[tree.token_ids].argmax(dim=-1))
        text += [*tree.token_ids[accepted].tolist(), bonus]
        steps += 1

    assert text[:61] == plain
    assert steps < 50  # drafts were accepted, or this showed nothing


@pytest.mark.parametrize("temperature", [0.7, 1.5])
def test_sampled_output_has_the_distribution_of_the_target(temperature):
    """Three tokens from a bigram target over 3 words, against the 27 exact probabilities.

    Chi-square at p > 1e-6: a fresh seed would fail once in a million runs.
    """
    rng = torch.Generator().manual_seed(5)
    vocab, length, draws = 3, 3, 5000
    next_logits = 0.7 * torch.randn(vocab, vocab, generator=rng)
    trees = [drafted_tree(rng, next_logits, w, 3, 2, 5, noise=0.7) for w in range(vocab)]
    counts, steps = dict.fromkeys(itertools.product(range(vocab), repeat=length), 0), 0

    for _ in range(draws):
        text = [0]
        while len(text) <= length:
            tree = trees[text[-1]]
            logits = next_logits[tree.token_ids]
            accepted, bonus = sample_and_walk(tree, logits, temperature, rng)
            text += [*tree.token_ids[accepted].tolist(), bonus]
            steps += 1
        counts[tuple(text[1 : length + 1])] += 1

    exact = torch.softmax(next_logits.double() / temperature, dim=-1)
    expected = []
    for words in counts:
        probability, last = 1.0, 0
        for word in words:
            probability *= float(exact[last, word])
            last = word
        expected.append(draws * probability)
    assert min(expected) > 5  # or the chi-square approximation would not hold
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-6
    assert steps < 0.8 * draws * length


def test_sampling_at_a_low_temperature_is_the_greedy_walk():
    rng = random.Random(1)
    generator = torch.Generator().manual_seed(1)
    for _ in range(200):
        tree = random_tree(rng, nodes=20, vocab=5)
        logits = torch.randn(20, 5, generator=generator)

        sampled = sample_and_walk(tree, logits, 1e-6, generator)

        assert sampled == greedy_walk(tree, logits.argmax(dim=-1))


def test_the_same_seed_gives_the_same_step():
    tree = random_tree(random.Random(2), nodes=12, vocab=4)
    logits = torch.zeros(12, 4)

    steps = [
        [
            sample_and_walk(tree, logits, 1.0, generator)
            for generator in [torch.Generator().manual_seed(seed)]
            for _ in range(20)
        ]
        for seed in (3, 3, 4)
    ]

    assert steps[0] == steps[1] != steps[2]


def test_a_choice_for_every_node_is_needed():
    tree = random_tree(random.Random(0), nodes=4, vocab=4)
    generator = torch.Generator()

    with pytest.raises(ValueError, match="nodes"):
        greedy_walk(tree, torch.zeros(3, dtype=torch.int64))
    with pytest.raises(ValueError, match="vocab"):
        sample_and_walk(tree, torch.zeros(3, 4), 1.0, generator)
    with pytest.raises(ValueError, match=r"\(L\+1,\)"):
        linear_accept(torch.tensor([1, 2]), torch.tensor([1, 2]))


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_sampling_without_a_temperature_is_refused(temperature):
    tree = random_tree(random.Random(0), nodes=1, vocab=4)

    with pytest.raises(ValueError, match="greedy_walk"):
        sample_and_walk(tree, torch.zeros(1, 4), temperature, torch.Generator())
