"""DDB5xx: the text that came out."""

from dataclasses import replace

import pytest

from ddbench.checks.repetition import longest_run, repeated_share

LOOP = tuple([5, 6, 7, 8] * 8)
FULL_STEPS = (0, 0, 0, 0, 0, 0, 0, 4)


def test_repeated_share_is_zero_for_all_different_and_near_one_in_a_loop():
    assert repeated_share(range(40)) == 0.0
    assert repeated_share([1, 2, 3] * 20) == pytest.approx(1 - 3 / 57)
    assert repeated_share([1, 2, 3]) is None


def test_longest_run_counts_equal_neighbours():
    assert longest_run("abbbccd") == 3
    assert longest_run([]) == 0


def test_answers_that_run_in_a_circle_fire(healthy, answer, fired, silent):
    silent("DDB501", healthy)
    loops = tuple(answer(f"q{i}", output_ids=LOOP) for i in range(2))
    fired("DDB501", replace(healthy, requests=healthy.requests + loops), "q0", "2 of 10")
    silent("DDB501", replace(healthy, requests=healthy.requests + loops[:1]))
    words = tuple(answer(f"q{i}", output_ids=None, text="la la bim bam " * 9) for i in range(2))
    fired("DDB501", replace(healthy, requests=words), "2 of 2")


def test_an_end_of_its_own_is_no_loop(healthy, answer, silent):
    stopped = tuple(answer(f"q{i}", output_ids=LOOP, finish_reason="stop") for i in range(4))

    silent("DDB501", replace(healthy, requests=stopped))


def test_speed_that_comes_from_loops_fires(healthy, answer, fired, silent, skipped):
    loop = {"completion_tokens": 33, "verify_ct": 4, "output_ids": LOOP, "histogram": FULL_STEPS}
    loops = tuple(answer(f"q{i}", **loop) for i in range(4))
    silent("DDB502", healthy)
    mixed = replace(healthy, requests=healthy.requests + loops)
    fired("DDB502", mixed, "4 of 12", "3.83 tokens a step", "3.00 without")
    fired("DDB502", replace(healthy, requests=loops), "no answer is free")
    slow = tuple(replace(r, histogram=(2, 1, 1)) for r in loops)
    silent("DDB502", replace(healthy, requests=healthy.requests + slow))
    short = tuple(replace(r, output_ids=None, text=None) for r in loops)
    skipped("DDB502", replace(healthy, requests=short), "24 tokens")


def test_token_zero_without_end_fires(healthy, answer, fired, silent):
    silent("DDB503", healthy)
    fired("DDB503", replace(healthy, requests=(answer(output_ids=(0,) * 31),)), "31 times in 31")
    row = answer(output_ids=(0,) * 20 + tuple(range(100, 180)))
    silent("DDB503", replace(healthy, requests=(row,)))
    written = answer(output_ids=None, text="Sure:" + "!" * 100)
    fired("DDB503", replace(healthy, requests=(written,)), "100 times in 105 characters")


def test_text_that_is_no_text_fires(healthy, answer, fired, silent):
    silent("DDB504", healthy)
    garbage = answer(text="ab\ufffd\ufffdc\ufffdd\ufffde" * 3)
    fired("DDB504", replace(healthy, requests=(garbage,)), "12 of 27")
    silent("DDB504", replace(healthy, requests=(answer(text="caf" + "\ufffd" * 5),)))
    fired("DDB504", replace(healthy, requests=(answer(text="\ufffd" * 40),)), "37 of 40")
