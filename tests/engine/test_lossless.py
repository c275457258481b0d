"""Drafting changes how fast an answer comes, never the answer: with the shipped pair, at float32.

Equal tokens alone prove little on a small model; the log-probabilities are what a wrong mask or a
wrong cache row disturbs. Two planted faults show that this comparison sees both.
"""

import pytest

TOLERANCE = 1e-4


def divergence(reference: list, others: list) -> tuple[bool, float]:
    """Whether all tokens are equal, and the largest log-probability difference up to the first
    token that is not."""
    same, worst = True, 0.0
    for ours, theirs in zip(reference, others, strict=True):
        same &= ours.output_ids == theirs.output_ids
        for token, other, left, right in zip(
            ours.output_ids,
            theirs.output_ids,
            ours.output_logprobs,
            theirs.output_logprobs,
            strict=False,
        ):
            if token != other:
                break
            worst = max(worst, abs(left - right))
    return same, worst


@pytest.fixture(scope="session")
def reference(lab, prompts, ask):
    return lab("autoregressive").answers([ask(prompt) for prompt in prompts])


@pytest.mark.parametrize("name", ["linear", "chain", "small tree", "tree", "wide tree"])
def test_drafting_changes_neither_tokens_nor_logprobs(name, lab, prompts, ask, reference):
    answers = lab(name).answers([ask(prompt) for prompt in prompts])

    same, worst = divergence(reference, answers)
    assert same
    assert worst < TOLERANCE
    assert sum(a.correct_drafts for a in answers) > 0  # or nothing was put to the test


@pytest.mark.parametrize("name", ["linear", "tree"])
def test_an_answer_does_not_depend_on_who_else_is_running(name, lab, prompts, ask, reference):
    engine = lab(name)

    alone = [engine.answers([ask(prompt)])[0] for prompt in prompts[:4]]

    same, worst = divergence(reference[:4], alone)
    assert same
    assert worst < TOLERANCE


@pytest.mark.parametrize("broken", ["mask dropped", "kv not moved"])
def test_a_broken_tree_is_seen(broken, lab, prompts, ask, reference):
    answers = lab(broken).answers([ask(p) for p in prompts])

    same, worst = divergence(reference, answers)
    assert not (same and worst < TOLERANCE)


def test_a_chain_shaped_tree_steps_exactly_like_a_line(lab, prompts, ask):
    def alone(engine) -> list[tuple]:
        answers = [engine.answers([ask(prompt)])[0] for prompt in prompts]
        return [(a.output_ids, a.verify_ct, a.histogram) for a in answers]

    assert alone(lab("chain")) == alone(lab("linear"))


@pytest.mark.parametrize("name", ["linear", "tree"])
def test_sampled_answers_with_one_seed_are_the_same_in_every_setting(name, lab, prompts, ask):
    asked = [ask(prompt, temperature=0.8, seed=index) for index, prompt in enumerate(prompts[:6])]

    plain = lab("autoregressive").answers(asked)
    drafted = lab(name).answers(asked)

    assert [a.output_ids for a in drafted] == [a.output_ids for a in plain]
    assert len({tuple(a.output_ids) for a in plain}) == len(plain)


def test_sampling_without_a_seed_draws_anew_each_time(lab, prompts, ask):
    asked = [ask(prompts[0], temperature=1.0, ignore_eos=True) for _ in range(4)]

    answers = lab("autoregressive").answers(asked)

    assert len({tuple(a.output_ids) for a in answers}) > 1
