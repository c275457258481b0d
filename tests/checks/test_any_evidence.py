"""Whatever was measured, no rule falls over: strange numbers are findings, not tracebacks."""

from datetime import datetime, timedelta
from math import inf

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ddbench.checks.evidence import DraftCounts, Evidence, StatedRatios, StepRecord
from ddbench.checks.formats.github import render_github
from ddbench.checks.formats.plain import render_plain, render_statistics
from ddbench.checks.formats.sarif import render_sarif
from ddbench.checks.run import check
from ddbench.records import (
    ClientHealth,
    Counters,
    DecodeWindow,
    LoadConfig,
    PrefillWindow,
    RequestCompleted,
    RequestFailed,
    Speculation,
    StartupFact,
    ToolResult,
)

count = st.integers(0, 1000)
some = st.none() | count
number = st.none() | st.integers(0, 10**8).map(lambda n: n / 100)  # as printed
time = st.none() | st.integers(0, 100).map(lambda s: datetime(2026, 1, 1) + timedelta(seconds=s))
ranks = st.sampled_from(["", "DP0", "DP1"])
ids = st.none() | st.lists(st.integers(0, 5), max_size=40).map(tuple)
seconds = st.floats(0, 100, allow_nan=False)
setting = st.sampled_from(["", "None", "True", "False", "0", "1", "8", "-1", "x"])

windows = st.builds(
    DecodeWindow,
    logged_at=time,
    ranks=ranks,
    running_requests=some,
    queued_requests=some,
    kv_tokens=some,
    accept_len_logged=number,
    accept_rate_logged=number,
    graph=st.none() | st.booleans(),
    throughput_tokens_per_s=number,
    accepted_depth=number,
    commit_len=number,
    tree_nodes=number,
)
prefills = st.builds(
    PrefillWindow,
    logged_at=time,
    ranks=ranks,
    new_requests=some,
    new_tokens=some,
    cached_tokens=some,
    running_requests=some,
    queued_requests=some,
)
answers = st.builds(
    RequestCompleted,
    prompt_id=st.sampled_from(["p0", "p1", "p2"]),
    sent_s=seconds,
    lateness_s=seconds,
    ttft_s=seconds,
    e2e_s=seconds,
    prompt_tokens=count,
    completion_tokens=count,
    output_ids=ids,
    output_logprobs=st.none() | st.lists(st.floats(-50, 0), max_size=5).map(tuple),
    finish_reason=st.sampled_from(["stop", "length", "abort"]),
    retractions=some,
    cached_tokens=some,
    verify_ct=some,
    correct_drafts=some,
    committed_drafts=some,
    histogram=st.none() | st.lists(count, max_size=10).map(tuple),
    text=st.none() | st.text(max_size=80),
)
failures = st.builds(
    RequestFailed, st.just("p9"), sent_s=seconds, lateness_s=seconds, reason=st.text(max_size=9)
)
speculations = st.builds(
    Speculation,
    algorithm=st.none() | st.sampled_from(["DFLASH", "DDTREE", "EAGLE3", "UNO"]),
    block_size=st.none() | st.integers(1, 16),
    budget=st.none() | st.integers(0, 64),
    topk=st.none() | st.integers(1, 8),
)


@st.composite
def steps(draw):
    nodes = draw(st.integers(1, 6))
    whole = st.lists(st.integers(-1, 9), min_size=nodes, max_size=nodes).map(tuple)
    weights = st.lists(st.floats(-9, 1), min_size=nodes, max_size=nodes).map(tuple)
    return StepRecord(
        rid=draw(st.sampled_from(["a", "b"])),
        step=draw(st.integers(0, 5)),
        prefix_len=draw(count),
        parents=draw(whole),
        tokens=draw(whole),
        depths=draw(whole),
        log_weights=draw(st.just(()) | weights),
        accepted=draw(st.lists(st.integers(0, nodes - 1), min_size=1, max_size=nodes).map(tuple)),
        target=draw(whole),
        bonus=draw(st.integers(0, 9)),
        commit=draw(st.lists(st.integers(0, 9), max_size=nodes).map(tuple)),
        finished=draw(st.booleans()),
    )


counters = st.builds(
    Counters,
    spec_verify_calls=number,
    generation_tokens=number,
    prompt_tokens=number,
    retracted_requests=number,
    avg_spec_accept_length=number,
)
evidence = st.builds(
    Evidence,
    subject=st.sampled_from(["a", "b"]),
    source=st.sampled_from(["", "run", "other"]),
    arm=st.none() | st.sampled_from(["autoregressive", "linear-8", "tree"]),
    speculation=st.none() | speculations,
    server_version=st.none() | st.sampled_from(["0.5.11", "0.5.23", "main", ""]),
    load=st.none()
    | st.builds(
        LoadConfig,
        prompts=st.just("builtin:mixed"),
        count=count,
        concurrency=st.integers(1, 8),
        max_new_tokens=count,
        temperature=st.sampled_from([0.0, 0.8]),
        ignore_eos=st.booleans(),
        record_drafts=st.booleans(),
    ),
    windows=st.lists(windows, max_size=15).map(tuple),
    prefill=st.lists(prefills, max_size=4).map(tuple),
    startup=st.lists(
        st.builds(
            StartupFact,
            st.sampled_from(["ddtree_worker", "graph_capture", "greedy_fallback"]),
            st.text("=, abtree_budgtks18", max_size=30),
            st.just(""),
        ),
        max_size=3,
    ).map(tuple),
    requests=st.lists(answers | failures, max_size=6).map(tuple),
    stated=st.lists(
        st.builds(StatedRatios, answers, number, number, some),
        max_size=2,
    ).map(tuple),
    wall_s=number,
    client=st.none() | st.builds(ClientHealth, seconds, seconds, count),
    counters_before=counters,
    counters_after=counters,
    settings=st.dictionaries(
        st.sampled_from(
            [
                "decode_log_interval",
                "disable_radix_cache",
                "max_running_requests",
                "page_size",
                "speculative_algorithm",
                "speculative_num_draft_tokens",
            ]
        ),
        setting,
    ),
    steps=st.lists(steps(), max_size=6).map(tuple),
    draft_counts=st.lists(st.builds(DraftCounts, some, some, some, some), max_size=2).map(tuple),
    repeat=st.integers(0, 1),
    visit=st.integers(0, 1),
    tool=st.none()
    | st.builds(
        ToolResult,
        tool=st.just("a tool"),
        seen=st.booleans(),
        asked_concurrency=some,
        achieved_concurrency=number,
        request_rate_per_s=number | st.just(inf),
        completed=some,
        failed=some,
        duration_s=number,
        input_tokens=some,
        output_tokens=some,
        recounted_output_tokens=some,
        requests_per_s=number,
        tokens_per_s=number,
        percentiles=st.dictionaries(
            st.sampled_from(["ttft_ms", "itl_ms", "tpot_ms"]),
            st.dictionaries(st.sampled_from(["mean", "median", "p99", "max"]), seconds),
        ),
        accept_length=number,
        accept_rate=number,
        draft_steps=some,
        drafted_tokens=some,
        accepted_tokens=some,
        position_rates=st.lists(seconds, max_size=3).map(tuple),
        itl_counts_chunks=st.booleans(),
    ),
)


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(evidence, min_size=1, max_size=4))
def test_no_evidence_makes_a_rule_fall_over(several):
    report = check(several)

    for finding in report.findings:
        assert finding.message
        # DDB402 quotes arguments, and SGLang writes None for those that are not set.
        assert finding.code == "DDB402" or "None" not in finding.message, finding
    render_plain(report)
    render_statistics(report)
    render_github(report)
    render_sarif(report)
