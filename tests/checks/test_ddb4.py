"""DDB4xx: what must hold between runs."""

import math
from dataclasses import replace

import pytest

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Severity
from ddbench.records import LoadConfig, Speculation

PLAIN = Speculation()
LINE = Speculation("DFLASH", block_size=8)
CHAIN = Speculation("DDTREE", block_size=8, budget=7, topk=1)
TREE_7 = Speculation("DDTREE", block_size=8, budget=7, topk=4)
TREE_15 = Speculation("DDTREE", block_size=8, budget=15, topk=4)
TREE_31 = Speculation("DDTREE", block_size=8, budget=31, topk=4)
PROMPTS = 12


@pytest.fixture
def trial(answer):
    """12 answers of 61 tokens in `steps` verify steps each; 10 s of wall time."""

    def make(arm, speculation, *, steps=20, concurrency=1, temperature=0.0, **more):
        requests = []
        for i in range(PROMPTS):
            request = answer(
                f"p{i}",
                sent_s=10.0 / PROMPTS * i,
                ttft_s=0.1 + 0.001 * i + 0.01 * steps,
                completion_tokens=61,
                output_ids=tuple(range(61)),
                verify_ct=steps + i % 3 if speculation.algorithm else None,
                correct_drafts=None,
                committed_drafts=None,
                histogram=None,
            )
            requests.append(request)
        load = LoadConfig("builtin:mixed", PROMPTS, concurrency, 61, temperature)
        fields = {"requests": tuple(requests), "wall_s": 10.0, **more}
        return Evidence(
            f"{arm} at {concurrency}", arm=arm, speculation=speculation, load=load, **fields
        )

    return make


def changed(run, **changes):
    """Every answer with `changes`; a callable gets the answer."""
    requests = tuple(
        replace(r, **{k: v(r) if callable(v) else v for k, v in changes.items()})
        for r in run.completed
    )
    return replace(run, requests=requests)


def test_concurrency_one_against_sixty_four_is_not_comparable(trial, fired, silent):
    line, tree = trial("linear-8", LINE), trial("tree-8-31-4", TREE_31, concurrency=64)
    finding = fired("DDB401", [line, tree], "not comparable: concurrency 1 against 64")
    assert finding.severity is Severity.ERROR
    assert finding.subject == "linear-8 and tree-8-31-4"
    silent("DDB401", [line, tree, trial("tree-8-31-4", TREE_31)])
    longer = replace(line, load=replace(line.load, max_new_tokens=128), arm="x")
    fired("DDB401", [line, longer], "max_new_tokens 61 against 128")


def test_two_rates_are_two_conditions(trial, fired, silent):
    def at(arm, speculation, rate_per_s):
        run = trial(arm, speculation, concurrency=0)
        return replace(run, load=replace(run.load, rate_per_s=rate_per_s))

    slow, fast = at("linear-8", LINE, 2.0), at("tree-8-31-4", TREE_31, 8.0)
    fired("DDB401", [slow, fast], "not comparable: rate_per_s 2.0 against 8.0")
    silent("DDB401", [slow, fast, at("tree-8-31-4", TREE_31, 2.0)])


def test_two_bare_logs_are_compared_by_their_usual_number_running(window, fired, silent):
    def log(name, running):
        windows = tuple(window(float(i), running_requests=running) for i in range(5))
        return Evidence(name, source=name, windows=windows)

    fired("DDB401", [log("a.log", 1), log("b.log", 64)], "concurrency 1 against 64")
    silent("DDB401", [log("a.log", 60), log("b.log", 64)])


def test_two_run_folders_with_the_same_arm_are_told_apart(trial, fired):
    one = trial("linear-8", LINE, source="run1")
    other = trial("linear-8", LINE, source="run2", concurrency=8)

    assert fired("DDB401", [one, other]).subject == "run1 linear-8 and run2 linear-8"


def test_servers_that_differ_in_more_than_drafting_fire(trial, window, fired, silent, skipped):
    same = {"page_size": "1", "disable_overlap_schedule": "False"}
    line = trial("linear-8", LINE, settings=same)
    silent("DDB402", [line, trial("tree", TREE_31, settings=same)])
    serial = {**same, "disable_overlap_schedule": "True"}
    fired("DDB402", [line, trial("tree", TREE_31, settings=serial)], "False in linear-8 and True")
    other = {**same, "speculative_draft_model_path": "b"}
    mine = trial("linear-8", LINE, settings={**same, "speculative_draft_model_path": "a"})
    fired("DDB402", [mine, trial("tree", TREE_31, settings=other)], "draft_model_path a")
    silent("DDB402", [mine, trial("plain", PLAIN, settings=other)])
    none = {**other, "speculative_draft_model_path": "None"}  # as NGRAM, which needs no drafter
    silent("DDB402", [mine, trial("tree", TREE_31, settings=none)])
    eager = trial("tree", TREE_31, settings=same, windows=(window(graph=False),))
    fired("DDB402", [replace(line, windows=(window(),)), eager], "linear-8 ran from graphs")
    labelled = trial("tree", TREE_31, settings={**same, "attention_backend": "triton"})
    mine = replace(line, settings={**same, "attention_backend": "fa3"})
    assert fired("DDB402", [mine, labelled], "fa3").severity is Severity.INFO
    skipped("DDB402", [trial("a", LINE), trial("b", TREE_31)], "resolved arguments")


def test_a_tree_without_a_line_of_its_block_size_is_named(trial, fired):
    line_16 = trial("linear-16", Speculation("DFLASH", block_size=16))

    fired("DDB402", [line_16, trial("tree", TREE_31)], "block size 8", "[16]")


def test_another_chat_template_shows_in_prompt_tokens(trial, fired, silent):
    line, tree = trial("linear-8", LINE), trial("tree", TREE_31)
    silent("DDB403", [line, tree])
    fired("DDB403", [line, changed(tree, prompt_tokens=20)], "16 tokens in linear-8", "20 tokens")


def test_a_chain_shaped_tree_must_be_the_line(trial, fired, silent, skipped):
    line, chain = trial("linear-8", LINE), trial("tree-8-7-1", CHAIN)
    silent("DDB404", [line, chain])
    slower = changed(chain, verify_ct=lambda r: r.verify_ct + 1)
    fired("DDB404", [slower, line], "p0 takes 20 steps and 21", "12 of 12")
    other = changed(chain, output_ids=(*range(9), *range(70, 122)))
    fired("DDB404", [line, other], "parts at token 9")
    shape = changed(chain, histogram=(1, 2))
    fired("DDB404", [changed(line, histogram=(2, 1)), shape], "other numbers of drafts")
    skipped("DDB404", [line, trial("tree", TREE_31)], "topk 1")


def test_in_a_batch_a_chain_may_differ_by_half_a_percent(trial, fired, silent):
    line = changed(trial("linear-8", LINE, concurrency=8), verify_ct=1000)
    near = changed(trial("chain", CHAIN, concurrency=8), verify_ct=1005)
    far = changed(trial("chain", CHAIN, concurrency=8), verify_ct=1006)

    silent("DDB404", [line, near])
    fired("DDB404", [line, far], "12000 verify steps against 12072")


WRONG = (*range(4), *range(70, 127))


def test_text_that_parts_from_greedy_decoding_fires(trial, fired, silent, skipped):
    plain, tree = trial("autoregressive", PLAIN), trial("tree", TREE_31)
    silent("DDB405", [plain, tree])
    wrong = changed(tree, output_ids=WRONG)
    finding = fired("DDB405", [plain, wrong], "12 of 12", "token 4", "not measured")
    assert finding.severity is Severity.WARNING
    repeated = replace(plain, repeat=1)
    finding = fired("DDB405", [plain, repeated, wrong], "from itself: 0%")
    assert finding.severity is Severity.ERROR
    flipped = changed(tree, output_ids=lambda r: WRONG if r.prompt_id == "p0" else r.output_ids)
    silent("DDB405", [plain, flipped])
    skipped("DDB405", [changed(plain, output_ids=None), tree], "token ids")


def test_a_divergence_is_an_error_unless_it_is_a_near_tie(trial, fired, silent):
    def logprobs(value):
        return tuple([-0.1] * 4 + [value] * 57)

    plain = changed(trial("autoregressive", PLAIN), output_logprobs=logprobs(math.log(0.48)))
    wrong = changed(trial("tree", TREE_31), output_ids=WRONG)
    silent("DDB405", [plain, changed(wrong, output_logprobs=logprobs(math.log(0.46)))])
    fired("DDB405", [plain, changed(wrong, output_logprobs=logprobs(-0.1))], "not at a near tie")
    unlike = changed(plain, output_logprobs=logprobs(math.log(0.8)))
    fired("DDB405", [unlike, changed(wrong, output_logprobs=logprobs(math.log(0.1)))], "near tie")
    sure = changed(plain, output_logprobs=logprobs(-0.05))
    fired("DDB405", [sure, changed(wrong, output_logprobs=logprobs(-0.04))], "near tie")


def test_without_plain_decoding_a_tree_is_held_against_the_line(trial, fired):
    line, wrong = trial("linear-8", LINE), changed(trial("tree", TREE_31), output_ids=WRONG)

    assert fired("DDB405", [line, wrong]).subject == "tree at concurrency 1 and linear-8"


def test_a_repeat_that_differs_is_a_race(trial, fired, silent, skipped):
    line = trial("linear-8", LINE)
    silent("DDB406", [line, replace(line, repeat=1)])
    other = changed(
        replace(line, repeat=1), verify_ct=lambda r: r.verify_ct + (r.prompt_id == "p3")
    )
    fired("DDB406", [line, other], "p3 took", "1 of 12")
    fired("DDB406", [line, changed(line, output_ids=WRONG)], "p0 has different tokens")
    batched = trial("linear-8", LINE, concurrency=8)
    skipped("DDB406", [batched, replace(batched, repeat=1)], "concurrency 1")


def test_a_repeat_that_differs_without_drafting_too_is_not_the_drafters_fault(trial, fired):
    plain, line = trial("autoregressive", PLAIN), trial("linear-8", LINE)
    flipped = [changed(plain, output_ids=WRONG), changed(line, output_ids=WRONG)]

    assert fired("DDB406", [plain, line, *flipped]).subject == "autoregressive at concurrency 1"


def test_a_larger_budget_that_accepts_less_fires(trial, fired, silent, skipped):
    small = trial("tree-15", TREE_15, steps=20)
    silent("DDB407", [small, trial("tree-31", TREE_31, steps=20)])
    silent("DDB407", [trial("tree-31", TREE_31, steps=18), small])
    fired(
        "DDB407", [trial("tree-31", TREE_31, steps=25), small], "2.86 tokens", "2.31", "12 prompts"
    )
    skipped("DDB407", [small, trial("linear-8", LINE)], "budget alone")


def test_a_gain_that_grows_with_the_budget_fires(trial, fired, silent, skipped):
    first, second = trial("tree-7", TREE_7, steps=24), trial("tree-15", TREE_15, steps=23)
    silent("DDB408", [first, second, trial("tree-31", TREE_31, steps=22)])
    fired("DDB408", [first, second, trial("tree-31", TREE_31, steps=12)], "2.40, 2.50 and 4.62")
    skipped("DDB408", [first, second], "three budgets")


def test_a_tree_that_loses_to_the_line_fires(trial, fired, silent, skipped):
    line = trial("linear-8", LINE, steps=14)
    silent("DDB409", [line, trial("tree", TREE_31, steps=13)])
    fired("DDB409", [trial("tree", TREE_31, steps=22), line], "4.00 tokens", "2.61")
    small = Speculation("DDTREE", block_size=8, budget=4, topk=4)
    skipped("DDB409", [line, trial("tree", small, steps=22)], "block size")


def test_a_tree_that_accepts_fewer_first_drafts_fires(trial, fired, silent, skipped):
    line = changed(trial("linear-8", LINE), histogram=(6, 14))
    silent("DDB410", [line, changed(trial("tree", TREE_31), histogram=(5, 15))])
    fired("DDB410", [line, changed(trial("tree", TREE_31), histogram=(9, 11))], "0.70", "0.55")
    skipped("DDB410", [line, trial("tree", TREE_31)], "histograms")


def test_acceptance_that_moves_with_concurrency_fires(trial, fired, silent, skipped):
    alone = trial("tree", TREE_31)
    silent("DDB411", [alone, trial("tree", TREE_31, concurrency=16, steps=20)])
    fired("DDB411", [alone, trial("tree", TREE_31, concurrency=16, steps=40)], "2.86", "1.46 at 16")
    fired("DDB411", [alone, trial("tree", TREE_31, concurrency=16, steps=10)], "5.45 at 16")
    skipped("DDB411", [alone, trial("other", TREE_31, concurrency=16)], "two concurrencies")


def timed(run, window, *, gap_s, throughput, accept_len, running=4):
    """40 lines of 40 steps each."""
    windows = tuple(
        window(
            gap_s * i,
            running_requests=running,
            accept_len_logged=accept_len,
            throughput_tokens_per_s=throughput * (1 + 0.001 * (i % 2)),
        )
        for i in range(40)
    )
    return replace(run, windows=windows, settings={"decode_log_interval": "40"})


def test_speed_is_tokens_a_step_over_step_time(trial, window, fired, silent, skipped):
    line = timed(trial("linear-8", LINE, steps=19), window, gap_s=1.0, throughput=480, accept_len=3)
    tree = trial("tree", TREE_31, steps=14)
    good = timed(tree, window, gap_s=2.0, throughput=320, accept_len=4)
    silent("DDB412", [line, good])
    fired(
        "DDB412", [line, timed(tree, window, gap_s=2.0, throughput=240, accept_len=3)], "0.50 times"
    )
    skipped("DDB412", [trial("linear-8", LINE), trial("tree", TREE_31)], "ten seconds")


def test_a_wider_step_that_is_faster_fires(trial, window, fired, silent, skipped):
    line = timed(
        trial("linear-8", LINE, concurrency=4), window, gap_s=1.0, throughput=480, accept_len=3
    )
    tree = trial("tree", TREE_31, concurrency=4)
    silent("DDB413", [line, timed(tree, window, gap_s=1.0, throughput=480, accept_len=3.2)])
    quick = timed(tree, window, gap_s=1.0, throughput=600, accept_len=3.2)
    once = fired("DDB413", [quick, line], "width 8", "at 32")
    again = [replace(run, visit=1) for run in (quick, line)]
    twice = fired("DDB413", [quick, line, *again])
    assert (once.severity, twice.severity) == ("info", "warning")
    skipped("DDB413", [trial("linear-8", LINE), tree], "full concurrency")


def test_throughput_that_scales_too_well_or_backwards_fires(trial, fired, silent, skipped):
    one = trial("linear-8", LINE, wall_s=10.0)
    silent("DDB414", [one, trial("linear-8", LINE, concurrency=8, wall_s=2.0)])
    fired("DDB414", [one, trial("linear-8", LINE, concurrency=8, wall_s=1.0)], "73.2", "732.0 at 8")
    slow = trial("linear-8", LINE, concurrency=8, wall_s=12.0)
    once = fired("DDB414", [one, slow], "61.0 at 8")
    twice = fired("DDB414", [one, slow, replace(one, visit=1), replace(slow, visit=1)])
    assert (once.severity, twice.severity) == ("info", "warning")
    skipped("DDB414", [one, trial("tree", TREE_31, concurrency=8)], "two concurrencies")


def test_drift_between_visits_fires(trial, fired, silent, skipped):
    first = trial("linear-8", LINE, wall_s=10.0)
    silent("DDB415", [first, trial("linear-8", LINE, wall_s=10.1, visit=1)])
    fired("DDB415", [first, trial("linear-8", LINE, wall_s=11.0, visit=1)], "-9.1%")
    noisy = [trial("linear-8", LINE, wall_s=w, repeat=i) for i, w in enumerate((9.0, 11.0))]
    silent("DDB415", [*noisy, trial("linear-8", LINE, wall_s=11.0, visit=1)])
    skipped("DDB415", [first, trial("linear-8", LINE, repeat=1)], "visits: 2")
    slow = trial("linear-8", LINE, wall_s=11.0, visit=1)
    skipped("DDB415", [replace(first, host="alpha"), replace(slow, host="beta")], "visits: 2")
    fired("DDB415", [replace(first, host="alpha"), replace(slow, host="alpha")], "-9.1%")


def test_cells_that_were_run_once_are_counted(trial, fired, silent):
    line = trial("linear-8", LINE)
    silent("DDB416", [line, replace(line, repeat=1)])
    fired("DDB416", [line, trial("tree", TREE_31)], "2 of 2 cells")


def test_a_stale_copy_of_a_result_is_found(trial, fired, silent, skipped):
    line = trial("linear-8", LINE)
    silent("DDB417", [line, trial("tree", TREE_31, steps=21)])
    fired("DDB417", [line, replace(line, arm="tree", subject="tree")], "same 12 latencies")
    skipped("DDB417", [Evidence("a"), Evidence("b")], "3 answers")


def test_sampling_that_gives_greedy_answers_fires(trial, fired, silent, skipped):
    greedy, warm = trial("linear-8", LINE), trial("linear-8", LINE, temperature=0.8)
    fired("DDB418", [greedy, warm], "all 12 answers at temperature 0.8")
    fired("DDB418", [greedy, replace(warm, source="another run")])
    silent("DDB418", [greedy, changed(warm, output_ids=WRONG)])
    skipped("DDB418", [greedy, trial("tree", TREE_31, temperature=0.8)], "temperature 0")


def test_a_drafter_that_loses_time_is_pointed_out(trial, fired, silent, skipped):
    plain = trial("autoregressive", PLAIN, wall_s=10.0)
    silent("DDB419", [plain, trial("linear-8", LINE, wall_s=6.0)])
    finding = fired("DDB419", [trial("linear-8", LINE, wall_s=12.0), plain], "61.0 tok/s at 2.86")
    assert finding.severity is Severity.INFO
    skipped("DDB419", [plain, trial("linear-8", LINE, concurrency=8)], "same conditions")
