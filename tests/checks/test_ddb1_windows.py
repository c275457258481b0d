"""DDB101-DDB119: what the log's windows say of acceptance, against each other and the rest."""

from dataclasses import replace

import pytest

from ddbench.checks.evidence import DraftCounts, Evidence
from ddbench.checks.finding import Severity
from ddbench.records import LoadConfig, Speculation


def depth_log(window, *pairs, **changes):
    """A log with (avg_accepted_depth, avg_commit_len) lines, five seconds apart."""
    windows = tuple(
        window(5.0 * i, accepted_depth=depth, commit_len=commit, **changes)
        for i, (depth, commit) in enumerate(pairs)
    )
    return Evidence("server.log", windows=windows)


def test_depth_seven_and_commit_two_is_an_error_with_causes_and_a_next_test(window, fired):
    log = depth_log(window, (7.0, 2.0), accept_len_logged=None)

    finding = fired("DDB101", log, "7.00", "2.00", "no finished count", "contiguous", "topk 1")

    assert finding.severity is Severity.ERROR


def test_depth_and_commit_that_differ_by_the_bonus_are_right(window, silent):
    silent("DDB101", depth_log(window, (2.71, 3.71), (3.5, 4.5), (2.0, 2.99)))


@pytest.mark.parametrize(
    ("commit", "accept_len", "words"),
    [
        (3.0, 3.0, "counts the root (avg_commit_len equals"),
        (3.0, 4.0, "leaves out the bonus token (accept len"),
        (3.0, None, "counts the root, or avg_commit_len"),
    ],
)
def test_accept_len_tells_why_depth_equals_commit(window, fired, commit, accept_len, words):
    log = depth_log(window, (3.0, commit), (3.0, commit), accept_len_logged=accept_len)

    fired("DDB101", log, words)


def test_a_root_that_is_counted_is_named_though_answers_end_in_some_windows(window, fired, silent):
    """Each answer that ends explains the whole excess of a short window, but none explains all."""
    counted = ((3.0, 3.0), (4.0, 4.0), (3.5, 3.0), (2.0, 2.0))

    fired("DDB101", depth_log(window, *counted, accept_len_logged=None), "counts the root")
    silent("DDB101", depth_log(window, (3.0, 4.0), (4.0, 5.0), (2.0, 3.0)))


def test_depth_one_above_commit_is_both_faults(window, fired):
    log = depth_log(window, (4.0, 3.0), (5.0, 4.0))

    fired("DDB101", log, "counts the root, and")


def test_a_depth_beyond_the_limit_is_a_walk_over_padding(window, fired, linear):
    log = replace(depth_log(window, (9.5, 3.0)), speculation=linear)

    fired("DDB101", log, "cannot be drafted")


def test_an_excess_only_with_several_running_is_a_mixed_up_batch(window, fired):
    good = window(0.0, accepted_depth=2.0, commit_len=3.0, running_requests=1)
    bad = window(5.0, accepted_depth=6.0, commit_len=2.0, running_requests=8)

    fired("DDB101", Evidence("log", windows=(good, bad)), "several requests running")


def test_an_excess_only_in_the_first_windows_is_warm_up(window, fired):
    log = depth_log(window, (6.0, 2.0), (2.0, 3.0), (2.5, 3.5))

    fired("DDB101", log, "first windows")


def test_more_committed_than_accepted_is_a_miscount(window, fired):
    fired("DDB101", depth_log(window, (2.0, 3.2)), "more is committed")


def cut_log(window, prefill, linear, excess):
    """Two requests of four end between two lines of 40 steps: F*D/S = 2*7/160 = 0.0875."""
    windows = tuple(
        window(5.0 * i, accepted_depth=2.0, commit_len=3.0 - (excess if i == 2 else 0.0))
        for i in range(4)
    )
    return Evidence(
        "server.log",
        speculation=linear,
        windows=windows,
        prefill=(prefill(7.0, new_requests=2),),
        settings={"decode_log_interval": "40"},
    )


def test_an_excess_that_ended_requests_explain_is_allowed(window, prefill, linear, silent):
    silent("DDB101", cut_log(window, prefill, linear, 0.08))


def test_a_prefill_in_the_second_of_a_line_counts_for_it(window, prefill, linear, silent):
    log = cut_log(window, prefill, linear, 0.08)

    silent("DDB101", replace(log, prefill=(prefill(10.0, new_requests=2),)))


def test_requests_of_the_last_line_may_have_ended_in_it(window, prefill, linear, silent, fired):
    """No later line shows it: a request that ends in the step of a line still counts in it."""
    lines = [window(5.0 * i, running_requests=1) for i in range(3)]
    last = window(15.0, running_requests=1, accepted_depth=3.0, commit_len=3.5)
    earlier = replace(last, logged_at=lines[1].logged_at)
    log = replace(
        cut_log(window, prefill, linear, 0.0),
        windows=(*lines, last),
        settings={"decode_log_interval": "4"},
    )

    silent("DDB101", log)
    fired(
        "DDB101",
        replace(
            log,
            windows=(lines[0], earlier, *lines[2:], lines[2]),
            prefill=(prefill(0.0, new_requests=0),),
        ),
    )


def test_an_excess_beyond_what_ended_requests_explain_fires(window, prefill, linear, fired):
    fired("DDB101", cut_log(window, prefill, linear, 0.12), "at most 0.09")


def test_a_small_excess_without_counts_is_skipped(window, skipped):
    skipped("DDB101", depth_log(window, (3.0, 3.8), (3.0, 4.0)), "finished counts")


def test_accept_len_beyond_depth_plus_one_fires(window, linear, fired):
    log = Evidence("log", speculation=linear, windows=(window(accept_len_logged=8.01),))

    fired("DDB104", log, "above 8", "8.01")


def test_accept_len_below_one_fires(window, fired):
    log = Evidence("log", windows=(window(accept_len_logged=0.97), window()))

    fired("DDB104", log, "below 1", "1 of 2")


def test_accept_len_within_its_range_is_right(window, linear, silent):
    lines = tuple(window(accept_len_logged=value) for value in (0.0, 1.0, 8.0, None))

    silent("DDB104", Evidence("log", speculation=linear, windows=lines))


def test_uno_may_commit_more_than_it_drafts(window, silent):
    uno = Speculation(algorithm="UNO", block_size=8)

    silent("DDB104", Evidence("log", speculation=uno, windows=(window(accept_len_logged=9.0),)))


def commit_log(window, *pairs, version=None, **changes):
    windows = tuple(
        window(5.0 * i, accept_len_logged=length, commit_len=commit)
        for i, (length, commit) in enumerate(pairs)
    )
    return Evidence("server.log", server_version=version, windows=windows, **changes)


def test_commit_that_lacks_the_bonus_everywhere_is_named(window, fired):
    fired("DDB102", commit_log(window, (4.0, 3.0), (3.5, 2.5)), "bonus token")
    fired("DDB102", commit_log(window, (4.0, 3.0), (4.0, 2.5), (3.0, 2.0)), "bonus token")


def test_up_to_0511_commit_and_accept_len_are_equal(window, fired, silent):
    fired("DDB102", commit_log(window, (4.0, 3.9), version="0.5.11"), "4.00", "3.90")
    silent("DDB102", commit_log(window, (4.0, 3.99), version="0.5.11"))


def test_commit_above_accept_len_fires_in_any_version(window, fired):
    fired("DDB102", commit_log(window, (3.5, 3.6), (3.5, 3.5)), "1 of 2")


def test_a_later_version_may_count_before_the_cut(window, prefill, linear, fired, silent):
    within = ((3.0, 3.0), (3.0, 3.0), (3.0, 2.92), (3.0, 3.0))
    beyond = ((3.0, 3.0), (3.0, 3.0), (3.0, 2.85), (3.0, 3.0))
    known = {
        "speculation": linear,
        "prefill": (prefill(7.0, new_requests=2),),
        "settings": {"decode_log_interval": "40"},
    }

    silent("DDB102", commit_log(window, *within, version="0.5.23", **known))
    fired("DDB102", commit_log(window, *beyond, version="0.5.23", **known), "at most 0.09")


def test_commit_against_accept_len_without_counts_is_skipped(window, skipped):
    skipped("DDB102", commit_log(window, (3.0, 2.7), (3.0, 2.9)), "finished counts")


def with_accept_len(run, plus):
    windows = tuple(
        replace(w, accept_len_logged=(w.accept_len_logged or 0.0) + plus) for w in run.windows
    )
    return replace(run, windows=windows)


def test_a_log_that_lost_the_bonus_token_contradicts_the_answers(healthy, fired, silent):
    silent("DDB103", healthy)
    fired("DDB103", with_accept_len(healthy, -1.0), "3.00 tokens a step", "2.00 from", "below")


def test_a_log_of_before_the_cut_may_read_high_by_as_much(healthy, silent, fired):
    cut = len(healthy.completed) * 7 / 80  # F*D/S = 0.7

    silent("DDB103", replace(with_accept_len(healthy, cut), server_version="0.5.23"))
    fired("DDB103", with_accept_len(healthy, cut), "above")  # 0.5.11 counts after it


def test_tokens_per_step_needs_lines_that_cover_the_run(healthy, skipped):
    skipped("DDB103", replace(healthy, windows=healthy.windows[:3]), "cover the run")


def test_a_rate_that_no_width_explains_fires(window, linear, fired, silent):
    lines = (window(), window(accept_len_logged=3.0, accept_rate_logged=0.93))
    fired("DDB105", Evidence("log", speculation=linear, windows=lines), "accept rate 0.93")

    lines = (window(), window(accept_len_logged=4.5, accept_rate_logged=0.5))
    silent("DDB105", Evidence("log", speculation=linear, windows=lines))


def test_lines_of_two_widths_fire(window, fired):
    lines = (
        window(accept_len_logged=3.0, accept_rate_logged=0.29),
        window(accept_len_logged=3.0, accept_rate_logged=0.50),
    )

    fired("DDB105", Evidence("log", windows=lines), "no single width")


def test_a_width_that_is_not_the_servers_own_fires(window, fired):
    settings = {"speculative_num_draft_tokens": "16"}

    fired("DDB105", Evidence("log", windows=(window(),), settings=settings), "width of 8", "16")


def test_a_rate_above_one_fires(window, fired):
    lines = (window(accept_len_logged=4.0, accept_rate_logged=1.33),)

    fired("DDB105", Evidence("log", windows=lines), "above 1")


def test_the_old_formula_is_pointed_out(window, fired, silent):
    old = tuple(
        window(accept_len_logged=length, accept_rate_logged=rate)
        for length, rate in ((1.01, 0.25), (2.5, 0.62), (4.0, 1.0))
    )
    finding = fired("DDB106", Evidence("log", windows=old), "accept len / 4")

    assert finding.severity is Severity.INFO
    silent("DDB106", Evidence("log", windows=(window(), window())))


def pinned(window, count, **changes):
    return tuple(
        window(20.0 * i, accept_len_logged=1.0, accept_rate_logged=0.0, **changes)
        for i in range(count)
    )


def test_nothing_accepted_from_boot_is_told_from_after_a_healthy_phase(window, fired):
    boot = Evidence("log", windows=pinned(window, 339, running_requests=1))
    fired("DDB107", boot, "from boot", "339 lines", "weights")

    healthy_phase = tuple(window(float(i)) for i in range(20))
    poisoned = Evidence("log", windows=healthy_phase + pinned(window, 339))
    fired("DDB107", poisoned, "after a healthy phase with 3.00", "Restart")


def test_nothing_accepted_in_all_answers_fires(answer, linear, fired):
    dead = tuple(
        answer(f"p{i}", verify_ct=30, correct_drafts=0, histogram=(30,)) for i in range(10)
    )

    fired("DDB107", Evidence("run", speculation=linear, requests=dead), "0 drafts", "300")


def test_a_probe_that_keeps_one_token_a_step_is_no_dead_drafter(window, silent):
    load = LoadConfig("builtin:mixed", 48, 1, 64, record_drafts=True)

    silent("DDB107", Evidence("probe", windows=pinned(window, 339), load=load))


def test_a_few_rejected_steps_are_no_dead_drafter(window, silent):
    lines = (window(), *pinned(window, 30, running_requests=1))

    silent("DDB107", Evidence("log", windows=lines, settings={"decode_log_interval": "1"}))


def test_a_layout_shifted_by_one_reads_near_one(window, fired, silent):
    lines = tuple(window(20.0 * i, accept_len_logged=1.06) for i in range(20))
    fired("DDB108", Evidence("log", windows=lines), "1.06")

    lines = tuple(window(20.0 * i, accept_len_logged=1.46) for i in range(20))
    silent("DDB108", Evidence("log", windows=lines))


def ceiling_log(window, linear, full, other):
    values = [8.0] * full + [2.88] * other
    lines = tuple(
        window(5.0 * i, accept_len_logged=value, running_requests=1)
        for i, value in enumerate(values)
    )
    settings = {"decode_log_interval": "40"}
    return Evidence("log", speculation=linear, windows=lines, settings=settings)


def test_the_share_of_windows_at_the_ceiling_decides(window, linear, fired, silent):
    fired("DDB109", ceiling_log(window, linear, full=5, other=10), "5 of 15")
    silent("DDB109", ceiling_log(window, linear, full=59, other=1206))  # a healthy log had 4.7 %


def test_acceptance_that_does_not_decay_with_depth_fires(answer, linear, fired):
    loops = (answer(verify_ct=100, correct_drafts=693, histogram=(1, 0, 0, 0, 0, 0, 0, 99)),)

    fired("DDB109", Evidence("run", speculation=linear, requests=loops), "99 of 100")


def test_single_steps_at_the_ceiling_are_not_counted(window, linear, skipped):
    lines = tuple(window(accept_len_logged=8.0, running_requests=1) for _ in range(9))
    log = Evidence("log", speculation=linear, windows=lines, settings={"decode_log_interval": "1"})

    skipped("DDB109", log, "windows of many steps")


def test_simulated_acceptance_is_constant(window, answer, linear, fired, silent):
    interval = {"decode_log_interval": "40"}
    fixed = tuple(window(5.0 * i, accept_len_logged=3.4) for i in range(12))
    fired("DDB110", Evidence("log", windows=fixed, settings=interval), "3.40 in all 12")

    varied = tuple(window(5.0 * i, accept_len_logged=3.4 + 0.01 * (i % 3)) for i in range(12))
    silent("DDB110", Evidence("log", windows=varied, settings=interval))

    steps = answer(verify_ct=120, correct_drafts=300, histogram=(0, 0, 60, 60))
    fired("DDB110", Evidence("run", speculation=linear, requests=(steps,)), "2 or 3 drafts")


def test_a_real_histogram_overrules_a_constant_log(healthy, silent):
    silent("DDB110", replace(healthy, requests=healthy.requests * 2))


def test_acceptance_that_sinks_over_hours_fires(window, fired, silent):
    sinking = tuple(window(60.0 * i, accept_len_logged=4.0 - i / 150) for i in range(300))
    fired("DDB111", Evidence("log", windows=sinking), "from 3.67", "to 2.34")

    level = tuple(window(60.0 * i, accept_len_logged=3.0 + 0.1 * (i % 7)) for i in range(300))
    silent("DDB111", Evidence("log", windows=level))


def test_acceptance_that_collapses_with_the_batch_fires(window, fired, silent):
    def log(several):
        return Evidence(
            "log",
            windows=tuple(
                window(float(i), accept_len_logged=value + 0.1 * (i % 3), running_requests=running)
                for running, value in ((1, 4.0), (16, several))
                for i in range(20)
            ),
        )

    fired("DDB112", log(1.5), "4.10", "1.59")
    silent("DDB112", log(3.9))


def test_acceptance_that_collapses_with_context_fires(window, fired, silent):
    def log(at_the_end):
        return Evidence(
            "log",
            windows=tuple(
                window(
                    float(i),
                    kv_tokens=400 * (i + 1),
                    running_requests=1,
                    accept_len_logged=3.0 + (at_the_end - 3.0) * i / 89,
                )
                for i in range(90)
            ),
        )

    fired("DDB113", log(1.5), "tokens of context")
    silent("DDB113", log(2.9))


def with_counters(run, **after):
    return replace(run, counters_after=replace(run.counters_after, **after))


def test_a_counter_that_includes_the_warm_up_fires(healthy, fired, silent):
    silent("DDB114", healthy)
    silent("DDB114", with_counters(healthy, spec_verify_calls=88.0))  # one overlapped step each
    fired("DDB114", with_counters(healthy, spec_verify_calls=89.0), "gained 89", "80 verify")
    fired("DDB114", with_counters(healthy, spec_verify_calls=79.0), "gained 79")


def test_a_life_time_average_of_other_runs_fires(healthy, fired, silent, skipped):
    silent("DDB115", healthy)
    fired("DDB115", with_counters(healthy, avg_spec_accept_length=2.6), "2.60")
    unflushed = replace(healthy, counters_before=healthy.counters_after)
    skipped("DDB115", unflushed, "flush")


def test_tokens_are_conserved(healthy, fired, silent):
    silent("DDB116", healthy)
    fired("DDB116", with_counters(healthy, generation_tokens=247.0), "gained 247", "248")
    fired("DDB116", with_counters(healthy, generation_tokens=320.0), "gained 320")


def test_a_drafting_arm_without_any_draft_fires(healthy, window, linear, fired, silent):
    silent("DDB117", healthy)
    plain = tuple(window(float(i), accept_len_logged=None) for i in range(5))
    fired("DDB117", Evidence("log", speculation=linear, windows=plain), "5 decode windows")
    fired("DDB117", replace(healthy, windows=plain), "log of the server")
    silenced = tuple(replace(r, verify_ct=None) for r in healthy.completed)
    fired("DDB117", replace(healthy, requests=silenced), "none of 8 answers")


def test_a_baseline_that_drafts_fires(window, answer, fired, silent):
    plain = Speculation()
    drafting = Evidence("run", speculation=plain, windows=(window(),), requests=(answer(),))
    fired("DDB118", drafting, "1 of 1 answers", "1 of 1 decode")
    quiet = Evidence(
        "run",
        speculation=plain,
        windows=(window(accept_len_logged=None),),
        requests=(answer(verify_ct=None),),
        settings={"speculative_algorithm": "None"},
    )
    silent("DDB118", quiet)


def test_a_tree_size_that_counts_the_root_fires(window, tree, step, fired, silent):
    def log(nodes, **more):
        lines = (window(tree_nodes=nodes), window(tree_nodes=nodes))
        return Evidence("log", speculation=tree, windows=lines, **more)

    fired("DDB119", log(4.0), "the root is counted")
    fired("DDB119", log(5.0), "outside 1 to 3")
    fired("DDB119", log(2.4, steps=(step(),)), "outside 3 to 3")
    silent("DDB119", log(3.0, steps=(step(),)))


def test_more_accepted_than_emitted_is_no_prefix_acceptance(fired, silent):
    def log(accepted, drafted, emitted):
        return Evidence("log", draft_counts=(DraftCounts(accepted, drafted, emitted, 4),))

    silent("DDB130", log(44, 80, 60))
    fired("DDB130", log(44, 80, 12), "44 tokens accepted and 12 emitted")
    fired("DDB130", log(44, 40, None), "40 drafted")


def test_counters_of_earlier_runs_are_subtracted(healthy, silent):
    earlier = replace(healthy.counters_before, spec_verify_calls=500.0, generation_tokens=900.0)
    later = replace(healthy.counters_after, spec_verify_calls=580.0, generation_tokens=1148.0)
    run = replace(healthy, counters_before=earlier, counters_after=later)

    silent("DDB114", run)
    silent("DDB116", run)
