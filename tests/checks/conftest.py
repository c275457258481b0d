"""Builders of evidence by hand, and the two questions every rule is asked."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from ddbench.checks.evidence import Comparison, Evidence, StepRecord
from ddbench.checks.finding import Finding, Skipped
from ddbench.checks.table import COMPARISON_RULES, RULES
from ddbench.records import (
    ClientHealth,
    Counters,
    DecodeWindow,
    LoadConfig,
    PrefillWindow,
    RequestCompleted,
    Speculation,
)

START = datetime(2026, 11, 30, 3, 0, 0)
BY_CODE = {rule.code: rule for rule in (*RULES, *COMPARISON_RULES)}


def outcomes_of(code, evidence):
    rule = BY_CODE[code]
    if isinstance(evidence, list):
        evidence = Comparison(tuple(evidence))
    return list(rule.findings(evidence))


@pytest.fixture
def fired():
    """fired(code, evidence, *words): the rule has one finding, its text holds all the words."""

    def ask(code, evidence, *words) -> Finding:
        outcomes = outcomes_of(code, evidence)
        findings = [o for o in outcomes if isinstance(o, Finding)]
        assert len(findings) == 1, outcomes
        (finding,) = findings
        for word in words:
            assert word in f"{finding.message} {finding.remedy}"
        assert finding.remedy.endswith(".")
        return finding

    return ask


@pytest.fixture
def silent():
    """silent(code, evidence): the rule had all its inputs and nothing to say."""

    def ask(code, evidence) -> None:
        assert outcomes_of(code, evidence) == []

    return ask


@pytest.fixture
def skipped():
    """skipped(code, evidence, *words): the rule names what it lacks."""

    def ask(code, evidence, *words) -> None:
        (outcome,) = outcomes_of(code, evidence)
        assert isinstance(outcome, Skipped)
        for word in words:
            assert word in outcome.missing

    return ask


@pytest.fixture
def window():
    """A decode line of a healthy linear arm, block 8: `second` after START."""

    def make(second=0.0, **changes) -> DecodeWindow:
        healthy = DecodeWindow(
            logged_at=START + timedelta(seconds=second),
            ranks="",
            running_requests=4,
            queued_requests=0,
            kv_tokens=400,
            accept_len_logged=3.0,
            accept_rate_logged=0.29,
            graph=True,
            throughput_tokens_per_s=480.0,
        )
        return replace(healthy, **changes)

    return make


@pytest.fixture
def prefill():
    def make(second=0.0, **changes) -> PrefillWindow:
        line = PrefillWindow(
            logged_at=START + timedelta(seconds=second),
            ranks="",
            new_requests=1,
            new_tokens=16,
            cached_tokens=0,
            running_requests=3,
            queued_requests=0,
        )
        return replace(line, **changes)

    return make


@pytest.fixture
def answer():
    """31 tokens in 10 verify steps with 20 accepted drafts, block 8; one second, TTFT 0.1 s."""

    def make(prompt_id="p0", **changes) -> RequestCompleted:
        healthy = RequestCompleted(
            prompt_id=prompt_id,
            sent_s=0.0,
            lateness_s=0.0,
            ttft_s=0.1,
            e2e_s=1.0,
            prompt_tokens=16,
            completion_tokens=31,
            output_ids=tuple(range(100, 131)),
            output_logprobs=None,
            finish_reason="length",
            retractions=0,
            cached_tokens=0,
            verify_ct=10,
            correct_drafts=20,
            committed_drafts=20,
            histogram=(2, 1, 2, 5),
            text=" ".join(f"word{i}" for i in range(31)),
        )
        return replace(healthy, **changes)

    return make


@pytest.fixture
def step():
    """One step of a tree arm: a root, two children, and a grandchild under the first.

    0 (7) - 1 (11) - 3 (13)     the target chooses 11 after the root, then 13, then 50
          - 2 (12)
    """

    def make(**changes) -> StepRecord:
        healthy = StepRecord(
            rid="r0",
            step=0,
            prefix_len=16,
            parents=(-1, 0, 0, 1),
            tokens=(7, 11, 12, 13),
            depths=(0, 1, 1, 2),
            log_weights=(0.0, -0.2, -1.8, -2.0),
            accepted=(0, 1, 3),
            target=(11, 13, 40, 50),
            bonus=50,
            commit=(11, 13, 50),
            finished=False,
        )
        return replace(healthy, **changes)

    return make


@pytest.fixture
def linear():
    """Linear drafting, block 8: depth limit 7."""
    return Speculation(algorithm="DFLASH", block_size=8)


@pytest.fixture
def tree():
    """A tree of 3 nodes beside the root, block 8, two candidates a depth: depth limit 3."""
    return Speculation(algorithm="DDTREE", block_size=8, budget=3, topk=2)


@pytest.fixture
def healthy(window, answer, linear, prefill):
    """A trial in which every witness says the same: 8 requests, 4 at a time, block 8.

    80 request-steps in 20 forwards, 2 forwards a line, 3.0 tokens a step; 6 s of wall time.
    """
    requests = []
    for i in range(8):
        sent_s = 0.0 if i < 4 else 3.0
        requests.append(answer(f"p{i}", sent_s=sent_s, ttft_s=0.2, e2e_s=3.0))
    return Evidence(
        subject="linear-8 at concurrency 4",
        arm="linear-8",
        speculation=linear,
        server_version="0.5.11",
        load=LoadConfig("builtin:mixed", count=8, concurrency=4, max_new_tokens=31),
        windows=tuple(window(0.6 * i, throughput_tokens_per_s=40.0) for i in range(10)),
        prefill=(prefill(0.0, new_requests=4), prefill(3.0, new_requests=4)),
        requests=tuple(requests),
        wall_s=6.0,
        client=ClientHealth(cpu_s=0.1, loop_lag_max_s=0.001, chunks=80),
        counters_before=Counters(
            spec_verify_calls=0.0, generation_tokens=0.0, prompt_tokens=0.0, retracted_requests=0.0
        ),
        counters_after=Counters(
            spec_verify_calls=80.0,
            generation_tokens=248.0,
            prompt_tokens=128.0,
            retracted_requests=0.0,
            avg_spec_accept_length=3.0,
        ),
        settings={
            "decode_log_interval": "2",
            "speculative_algorithm": "DFLASH",
            "speculative_num_draft_tokens": "8",
            "max_running_requests": "4",
            "page_size": "1",
            "disable_overlap_schedule": "True",
        },
    )
