"""DDB3xx: how the server was started and where it ran."""

from dataclasses import replace

import pytest

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Severity
from ddbench.records import Environment, Speculation, StartupFact


def said(name, value):
    return StartupFact(name, value, f"[2026-11-30 03:00:00] ... {value}")


TREE_16 = Speculation("DDTREE", block_size=8, budget=16, topk=4)


def test_a_width_that_was_not_asked_for_fires(linear, fired, silent, skipped):
    def server(speculation, *startup, **settings):
        return Evidence("log", speculation=speculation, startup=startup, settings=settings)

    worker = said("ddtree_worker", "block_size=8, tree_budget=16, max_tree_nodes=17")
    graph = said(
        "graph_capture", "Capture target decode CUDA graph begin. num_tokens_per_req=17, bs=[1]"
    )
    silent("DDB301", server(TREE_16, worker, graph))
    silent("DDB301", server(linear, speculative_num_draft_tokens="8"))
    fired("DDB301", server(linear, speculative_num_draft_tokens="16"), "is 16, not 8")
    small = said(
        "graph_capture", "Capture target decode CUDA graph begin. num_tokens_per_req=8, bs=[1]"
    )
    fired("DDB301", server(TREE_16, worker, small), "num_tokens_per_req", "8, not 17")
    shifted = said("ddtree_worker", "block_size=8, tree_budget=15, max_tree_nodes=15")
    fired("DDB301", server(TREE_16, shifted), "tree_budget is 15, not 16", "is 15, not 16")
    runner = said("dflash_draft_runner", "model=D, block_size=16, draft_window_size=None")
    fired("DDB301", server(linear, runner), "draft runner is 16, not 8")
    skipped("DDB301", server(Speculation("EAGLE3"), worker), "DFLASH family")
    skipped("DDB301", server(TREE_16, said("ready", "...")), "width")


def test_simulated_acceptance_is_named(healthy, fired, silent):
    silent("DDB302", healthy)
    silent("DDB302", replace(healthy, server_env={"SGLANG_SIMULATE_ACC_LEN": "0"}))
    faked = replace(healthy, server_env={"SGLANG_SIMULATE_ACC_LEN": "4"})
    fired("DDB302", faked, "SGLANG_SIMULATE_ACC_LEN=4")
    fired("DDB302", replace(healthy, startup=(said("simulated_acceptance", "4"),)), "log says")
    glue = replace(healthy, server_env={"SGLANG_ENABLE_METADATA_GLUE_GRAPH": "1"})
    fired("DDB302", glue, "stale metadata")
    probe = replace(healthy.load, record_drafts=True)
    silent("DDB302", replace(faked, load=probe))


def test_a_drafter_at_an_untrained_block_size_is_named(fired, silent):
    line = "speculative_num_draft_tokens=16 but draft config block_size=8"
    mismatch = Evidence("log", startup=(said("dflash_block_size_mismatch", line),))
    fired("DDB303", mismatch, "block_size=8")
    silent("DDB303", Evidence("log", startup=(said("ready", "..."),)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"attention_backend": "trtllm_mha"}, "trtllm_mha applies no tree mask"),
        ({"attention_backend": "fa3", "speculative_eagle_topk": "1"}, "only for topk > 1"),
        ({"page_size": "64"}, "page_size 64"),
    ],
)
def test_a_tree_on_a_backend_without_its_mask_fires(fired, silent, settings, words):
    good = {"attention_backend": "triton", "page_size": "1"}
    silent("DDB304", Evidence("log", speculation=TREE_16, settings=good))
    fired("DDB304", Evidence("log", speculation=TREE_16, settings={**good, **settings}), words)


def test_a_line_may_use_any_backend(linear, skipped):
    settings = {"attention_backend": "trtllm_mha"}

    skipped("DDB304", Evidence("log", speculation=linear, settings=settings), "drafts trees")


def test_a_running_limit_below_the_concurrency_fires(healthy, fired, silent, skipped):
    silent("DDB305", healthy)
    limited = {**healthy.settings, "max_running_requests": "3"}
    fired("DDB305", replace(healthy, settings=limited), "concurrency 4", "at most 3")
    reset = (said("max_running_requests_reset", "2"),)
    fired("DDB305", replace(healthy, settings={}, startup=reset), "at most 2")
    skipped("DDB305", replace(healthy, settings={"page_size": "1"}), "as the server resolved it")


def test_a_greedy_fallback_matters_when_sampling(healthy, fired, silent):
    line = said("greedy_fallback", "DFLASH non-greedy verification ... falling back to greedy")
    silent("DDB306", replace(healthy, startup=(line,)))
    warm = replace(healthy.load, temperature=0.7)
    fired("DDB306", replace(healthy, startup=(line,), load=warm), "temperature 0.7")
    log = Evidence("log", startup=(line,))
    assert fired("DDB306", log, "greedily").severity is Severity.WARNING


def test_a_timed_run_with_tracing_on_is_named(healthy, fired, silent):
    silent("DDB307", healthy)
    traced = replace(healthy, server_env={"CUDA_LAUNCH_BLOCKING": "1"})
    fired("DDB307", traced, "CUDA_LAUNCH_BLOCKING")
    logged = replace(healthy, settings={**healthy.settings, "log_requests": "True"})
    fired("DDB307", logged, "log_requests")
    dumped = replace(healthy, settings={"spec_trace_dir": "/tmp/trace"})
    fired("DDB307", dumped, "spec_trace_dir")
    silent("DDB307", replace(traced, load=replace(healthy.load, record_drafts=True)))


def test_what_was_not_recorded_is_listed(healthy, fired, silent):
    facts = {"target.sha256": "a", "drafter.sampled_sha256": "b"}
    recorded = replace(healthy, environment=Environment(facts, {}))
    silent("DDB308", recorded)
    fired("DDB308", healthy, "the environment")
    hashless = replace(healthy, environment=Environment({"target.sha256": "a"}, {}))
    fired("DDB308", hashless, "a hash of the drafter's weights")


def test_a_four_bit_draft_cache_with_low_acceptance_is_named(healthy, answer, fired, silent):
    weak = tuple(answer(f"p{i}", completion_tokens=13) for i in range(8))

    def run(**settings):
        return replace(healthy, requests=weak, settings=settings)

    fired("DDB309", run(kv_cache_dtype="nvfp4"), "nvfp4", "1.20")
    fired("DDB309", run(kv_cache_dtype="auto", speculative_draft_kv_cache_dtype="fp4_e2m1"), "fp4")
    silent("DDB309", run(kv_cache_dtype="nvfp4", speculative_draft_kv_cache_dtype="fp8_e4m3"))
    silent("DDB309", replace(healthy, settings={"kv_cache_dtype": "nvfp4"}))
