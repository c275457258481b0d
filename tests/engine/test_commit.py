"""What is counted when a block is cut: by the length limit, by a stop token, by a stop string."""

from itertools import pairwise

import pytest

from ddbench.engine.generation import Finish


@pytest.fixture(scope="session", params=["linear", "tree"])
def engine(request, lab):
    return lab(request.param)


@pytest.fixture(scope="session")
def whole(engine, prompts, ask):
    """(prompt, start, block): its tokens from output position `start` on are one step's, `block`
    of them: at least four drafts and the bonus."""
    for prompt in prompts:
        (answer,) = engine.answers(
            [ask(prompt, max_new_tokens=60, ignore_eos=True, streaming=True)]
        )
        ends = [seen.tokens for seen in engine.progress if seen.generation is answer]
        for start, end in pairwise(ends[:-1]):  # the last step may have been cut
            if end - start >= 5:
                return prompt, start, end - start
    raise AssertionError("no block with four correct drafts: is the drafter trained?")


def check_counts(answer) -> None:
    assert sum(answer.histogram) == answer.verify_ct
    assert sum(d * n for d, n in enumerate(answer.histogram)) == answer.correct_drafts
    assert not answer.histogram or answer.histogram[-1] > 0
    assert len(answer.output_ids) - 1 == answer.verify_ct + answer.committed_drafts
    assert len(answer.output_logprobs) == len(answer.output_ids)


def test_a_cut_at_every_position_of_a_block_is_counted(engine, whole, ask):
    prompt, start, block = whole
    drafts = block - 1  # the block's last token is the bonus

    for position in range(1, block + 1):
        length = start + position
        answer = engine.answers([ask(prompt, max_new_tokens=length, ignore_eos=True)])[0]

        check_counts(answer)
        assert answer.finish == Finish("length", length=length)
        assert len(answer.output_ids) == length
        # Correct drafts of the last step count in full, the committed only as far as appended.
        assert answer.correct_drafts - answer.committed_drafts == drafts - (position - 1)


def test_a_stop_token_at_every_position_of_a_block_is_counted(engine, whole, ask):
    prompt, start, block = whole
    full = engine.answers([ask(prompt, max_new_tokens=start + block, ignore_eos=True)])[
        0
    ].output_ids

    cut_inside = 0
    for position in range(start, start + block):
        token = full[position]
        answer = engine.answers(
            [ask(prompt, max_new_tokens=48, stop_token_ids=frozenset({token}))]
        )[0]

        check_counts(answer)
        assert answer.finish == Finish("stop", matched=token)
        end = full.index(token)
        assert answer.output_ids == full[: end + 1]
        cut_inside += answer.correct_drafts > answer.committed_drafts
    assert cut_inside > 0


def test_an_answer_ends_at_the_end_of_text_inside_a_block(engine, prompts, ask):
    answers = engine.answers([ask(prompt, max_new_tokens=200) for prompt in prompts])

    ended = [a for a in answers if a.finish.kind == "stop"]
    assert ended
    for answer in ended:
        check_counts(answer)
        eos = answer.finish.matched
        assert answer.output_ids.index(eos) == len(answer.output_ids) - 1
    assert any(a.correct_drafts > a.committed_drafts for a in ended)


def test_ignore_eos_writes_past_the_end_of_text(engine, prompts, ask):
    answers = engine.answers(
        [ask(prompt, max_new_tokens=120, ignore_eos=True) for prompt in prompts[:4]]
    )

    assert all(len(a.output_ids) == 120 for a in answers)
    for answer in answers:
        check_counts(answer)


def test_a_stop_string_ends_an_answer_at_the_token_that_completes_it(engine, prompts, ask):
    tokenizer = engine.engine.tokenizer
    full = engine.answers([ask(prompts[0], ignore_eos=True)])[0].output_ids
    text = tokenizer.decode(full, skip_special_tokens=False)
    stop = text[len(text) // 2 : len(text) // 2 + 3]

    answer = engine.answers([ask(prompts[0], ignore_eos=True, stop=(stop,))])[0]

    check_counts(answer)
    assert answer.finish == Finish("stop", matched=stop)
    written = tokenizer.decode(answer.output_ids, skip_special_tokens=False)
    before = tokenizer.decode(answer.output_ids[:-1], skip_special_tokens=False)
    assert stop in written
    assert stop not in before


def test_an_answer_of_one_token_has_no_verify_step(engine, prompts, ask):
    answer = engine.answers([ask(prompts[0], max_new_tokens=1)])[0]

    assert (answer.verify_ct, answer.histogram, len(answer.output_ids)) == (0, [], 1)
