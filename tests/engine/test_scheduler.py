"""Who runs when: batching, queueing, long prompts, slots."""

import pytest


@pytest.fixture(scope="session")
def small(new_lab):
    """Two slots, chunks of 32 tokens, room for 600 tokens in all."""
    flags = ("--max-running-requests", "2", "--chunked-prefill-size", "32")
    engine = new_lab(*flags, "--max-total-tokens", "600", "--decode-log-interval", "1")
    yield engine
    engine.close()


def test_a_long_prompt_does_not_stop_running_answers(small, ask, prompts):
    (running,) = small.submit(ask(prompts[0], streaming=True, max_new_tokens=100, ignore_eos=True))
    small.wait_until(lambda: len(running.output_ids) >= 3)

    long_prompt = (prompts[1] * 100)[:320]  # ten chunks
    (late,) = small.submit(ask(long_prompt, max_new_tokens=4, ignore_eos=True))
    small.wait_until(lambda: late.finish is not None)

    during = [
        p.tokens
        for p in small.progress
        if p.generation is running and late.forward_entry_s <= p.at_s <= late.prefill_finished_s
    ]
    assert len(during) >= 9
    small.wait_until(lambda: running.finish is not None)


def test_a_prompt_read_in_chunks_gives_the_same_answer(small, lab, ask, prompts):
    long_prompt = (prompts[1] * 100)[:200]

    (chunked,) = small.answers([ask(long_prompt)])
    (whole,) = lab("autoregressive").answers([ask(long_prompt)])

    assert chunked.output_ids == whole.output_ids
    assert chunked.output_logprobs == pytest.approx(whole.output_logprobs, abs=1e-4)


@pytest.mark.parametrize("arm", ["linear", "tree"])
def test_the_drafter_reads_a_prompt_in_chunks(arm, lab, ask, prompts):
    """The engines of this session read 256 tokens at a time."""
    long_prompt = (prompts[1] * 100)[:600]

    (drafted,) = lab(arm).answers([ask(long_prompt)])
    (plain,) = lab("autoregressive").answers([ask(long_prompt)])

    assert drafted.output_ids == plain.output_ids
    assert drafted.output_logprobs == pytest.approx(plain.output_logprobs, abs=1e-4)


def test_more_requests_than_slots_wait_their_turn(small, ask, prompts):
    asked = [ask(prompt, max_new_tokens=20) for prompt in prompts[:7]]

    answers = small.answers(asked)

    entries = [a.forward_entry_s for a in answers]
    assert entries == sorted(entries)
    busy = [
        sum(b.forward_entry_s <= a.forward_entry_s < b.finished_s for b in answers) for a in answers
    ]
    assert max(busy) == 2


def test_a_request_waits_until_all_its_tokens_have_room(small, ask, prompts):
    big = ask(prompts[0], max_new_tokens=400, ignore_eos=True)
    second = ask(prompts[1], max_new_tokens=300, ignore_eos=True)

    first, waited = small.answers([big, second])

    assert waited.forward_entry_s >= first.finished_s


def test_requests_of_very_different_age_share_a_batch(lab, ask, prompts):
    engine = lab("tree")
    (old,) = engine.submit(ask(prompts[0], max_new_tokens=300, ignore_eos=True, streaming=True))
    engine.wait_until(lambda: len(old.output_ids) > 100)

    young = engine.answers([ask(prompt) for prompt in prompts[1:4]])
    engine.wait_until(lambda: old.finish is not None)

    plain = lab("autoregressive").answers([ask(prompt) for prompt in prompts[1:4]])
    assert [a.output_ids for a in young] == [a.output_ids for a in plain]


def test_an_aborted_request_leaves_room_for_the_next(small, ask, prompts):
    endless = [ask(prompts[0], max_new_tokens=250, ignore_eos=True) for _ in range(2)]
    generations = small.submit(*endless)
    waiting = small.submit(ask(prompts[1], max_new_tokens=250))[0]

    for generation in (waiting, *generations):
        small.engine.scheduler.abort(generation)
    small.wait_until(lambda: all(g.finish is not None for g in (waiting, *generations)))

    assert {g.finish.kind for g in (waiting, *generations)} == {"abort"}
    assert small.answers([ask(prompts[1], max_new_tokens=2, ignore_eos=True)])
    assert small.engine.scheduler.occupancy.used_tokens == 0
    assert small.engine.scheduler.is_idle


def test_seeds_left_open_come_from_the_servers_own(new_lab, ask, prompts):
    def texts(seed: str) -> list[list[int]]:
        engine = new_lab("--random-seed", seed)
        answers = engine.answers([ask(prompts[0], temperature=1.0) for _ in range(2)])
        engine.close()
        return [a.output_ids for a in answers]

    assert texts("1") == texts("1")
    assert texts("1") != texts("2")
