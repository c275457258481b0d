"""DDB120-DDB128: what each answer says of itself."""

from dataclasses import replace

from ddbench.checks.evidence import Evidence, StatedRatios


def test_more_drafts_than_the_paths_hold_fires(answer, linear, fired):
    request = answer(verify_ct=10, correct_drafts=71)

    fired("DDB122", Evidence("run", speculation=linear, requests=(request,)), "71 drafts", "1 of 1")


def test_a_histogram_bin_beyond_the_depth_limit_fires(answer, linear, fired):
    request = answer(histogram=(2, 0, 0, 0, 0, 0, 0, 0, 8))

    fired("DDB122", Evidence("run", speculation=linear, requests=(request,)), "depth 8")


def test_all_drafts_accepted_is_possible(answer, linear, silent):
    request = answer(verify_ct=10, correct_drafts=70, histogram=(0, 0, 0, 0, 0, 0, 0, 10))

    silent("DDB122", Evidence("run", speculation=linear, requests=(request,)))


def run(speculation, *requests, **more):
    return Evidence("run", speculation=speculation, requests=requests, **more)


def test_committed_drafts_add_up_exactly(answer, linear, fired, silent):
    silent("DDB120", run(linear, answer(correct_drafts=None)))
    silent("DDB120", run(linear, answer(correct_drafts=None, completion_tokens=33, retractions=2)))
    fired("DDB120", run(linear, answer(correct_drafts=None, committed_drafts=21)), "21 committed")


def test_drafts_counted_before_the_cut_may_exceed_by_one_path(answer, linear, fired, silent):
    silent("DDB120", run(linear, answer(committed_drafts=None, correct_drafts=27)))
    fired("DDB120", run(linear, answer(committed_drafts=None, correct_drafts=28)), "28 correct")
    fired("DDB120", run(linear, answer(committed_drafts=None, correct_drafts=19)), "19 correct")


def stated(request, **changes):
    ratios = {"accept_length": 3.1, "accept_rate": 20 / 70, "proposed_drafts": 70}
    return StatedRatios(request, **{**ratios, **changes})


def test_ratios_follow_from_their_counts(answer, fired, silent):
    def case(**changes):
        settings = {"speculative_num_draft_tokens": "8"}
        return Evidence("answer.json", stated=(stated(answer(), **changes),), settings=settings)

    silent("DDB121", case())
    fired("DDB121", case(accept_length=3.0), "31 tokens / 10 steps")
    fired("DDB121", case(accept_rate=0.3), "20 of 70 drafts")
    fired("DDB121", case(proposed_drafts=80, accept_rate=0.25), "10 steps of 7")
    fired("DDB121", case(accept_rate=1.2, proposed_drafts=None), "no share")


def test_a_histogram_shifted_by_one_fires(answer, linear, fired, silent):
    silent("DDB123", run(linear, answer()))
    fired("DDB123", run(linear, answer(histogram=(0, 2, 1, 2, 5))), "shifted by one")
    fired("DDB123", run(linear, answer(histogram=(4, 2, 4, 10))), "20 in its histogram")


def test_steps_that_commit_nothing_or_too_much_fire(answer, linear, fired, silent):
    silent("DDB124", run(linear, answer(verify_ct=4)))
    fired("DDB124", run(linear, answer(verify_ct=3)), "4 to 30")
    silent("DDB124", run(linear, answer(verify_ct=31)))  # one overlapped step
    fired("DDB124", run(linear, answer(verify_ct=32)), "in 32 steps")
    fired("DDB124", run(linear, answer(verify_ct=31), server_version="0.5.11"), "in 31 steps")


def test_an_answer_without_verification_fires(answer, linear, fired, silent):
    one_token = answer("p1", completion_tokens=1, verify_ct=None)
    silent("DDB125", run(linear, answer(), one_token))
    fired("DDB125", run(linear, answer(), answer("p7", verify_ct=None)), "p7", "1 of 2")


def test_an_answer_that_overshoots_fires(healthy, answer, fired, silent):
    silent("DDB126", healthy)
    long = answer("p9", completion_tokens=34)
    fired("DDB126", replace(healthy, requests=(long,)), "34 tokens, 31 were asked")
    short = answer("p9", completion_tokens=30)
    fired("DDB126", replace(healthy, requests=(short,)), "length with 30")
    lost = answer("p9", output_ids=tuple(range(29)))
    fired("DDB126", replace(healthy, requests=(lost,)), "29 token ids")


def stopped(answer, *outputs):
    return tuple(
        answer(f"p{i}", finish_reason="stop", completion_tokens=len(ids), output_ids=ids)
        for i, ids in enumerate(outputs)
    )


def test_text_after_the_end_token_fires(answer, linear, fired, silent, skipped):
    good = stopped(answer, (5, 6, 2), (7, 2), (9, 8, 7, 2))
    silent("DDB127", run(linear, *good))
    fired("DDB127", run(linear, *good, answer("p7", output_ids=(5, 2, 6, 7))), "p7", "token 2 at 1")
    fired("DDB127", run(linear, *good, *stopped(answer, (5, 6, 9))), "no end token")
    skipped("DDB127", run(linear, *good[:2]), "end tokens")
    fired("DDB127", run(linear, *stopped(answer, (5, 2, 6)), stop_ids=frozenset({2})), "at 1")


def test_answers_that_are_never_cut_fire(answer, linear, fired):
    uncut = stopped(answer, (2, 5), (2, 6), (2, 7), (2, 8), (2, 9))

    fired("DDB127", run(linear, *uncut), "5 different tokens")


def test_cache_slots_that_are_never_freed_fire(healthy, fired, silent, skipped):
    def tokens(count):
        settings = {**healthy.settings, "disable_radix_cache": "True"}
        windows = tuple(replace(w, kv_tokens=count) for w in healthy.windows)
        return replace(healthy, windows=windows, settings=settings)

    silent("DDB128", tokens(4 * (16 + 31 + 16)))
    fired("DDB128", tokens(4 * (16 + 31 + 16) + 1), "10 of 10")
    skipped("DDB128", healthy, "radix")


def test_a_published_figure_is_an_anchor(healthy, fired, silent, skipped):
    def run(steps, **settings):
        load = replace(healthy.load, prompts="data/gsm8k_test.jsonl")
        requests = tuple(replace(r, verify_ct=steps) for r in healthy.completed)
        block_16 = replace(healthy.speculation, block_size=16)
        settings = {"model_path": "/models/Qwen3-8B", **settings}
        return replace(
            healthy, load=load, requests=requests, speculation=block_16, settings=settings
        )

    silent("DDB129", run(5))  # 6.0 against 6.57
    fired("DDB129", run(6), "5.00 tokens", "6.57 published")
    skipped("DDB129", run(6, model_path="/models/other"), "published figure")
