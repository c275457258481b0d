"""Single checks, on answers that are right and on answers that are wrong in one way each."""

from dataclasses import replace

import pytest

from ddbench.conformance.reference import RunnerUp
from ddbench.conformance.verdict import (
    Check,
    depth_identity,
    identities,
    same_steps,
    same_text,
)
from ddbench.records import DecodeWindow, RequestCompleted

ANSWER = RequestCompleted(  # 1 + (3 + 1) + (2 + 1), of which the last step lost one at the limit
    prompt_id="a",
    sent_s=0.0,
    lateness_s=0.0,
    ttft_s=0.1,
    e2e_s=1.0,
    prompt_tokens=5,
    completion_tokens=7,
    output_ids=(7, 8, 9, 10, 11, 12, 13),
    output_logprobs=(-0.1, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7),
    finish_reason="length",
    retractions=0,
    cached_tokens=0,
    verify_ct=2,
    correct_drafts=5,
    committed_drafts=4,
    histogram=(0, 0, 1, 1),
)
OTHER = replace(ANSWER, prompt_id="b")
BOTH = (ANSWER, OTHER)
WINDOW = DecodeWindow(
    logged_at=None,
    ranks="",
    running_requests=1,
    queued_requests=0,
    kv_tokens=1,
    accept_len_logged=3.5,
    accept_rate_logged=None,
    graph=False,
    throughput_tokens_per_s=1.0,
    accepted_depth=2.5,
    commit_len=3.5,
    tree_nodes=15.0,
)


def text(expected, actual, runners_up=None):
    return same_text("c", "w", expected, actual, runners_up=runners_up or {}, tolerance=1e-4)


def test_the_same_text_passes_and_says_how_near_it_is() -> None:
    near = replace(ANSWER, output_logprobs=(-0.10005, *ANSWER.output_logprobs[1:]))  # type: ignore[index]

    found = text(BOTH, (near, OTHER)).check

    assert found.passed
    assert found.detail == "2 requests, log-probabilities apart by at most 5.0e-05"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"output_logprobs": (-0.1, -0.2, -0.3, -0.41, -0.5, -0.6, -0.7)},
            "prompt b, output token 3: expected token 10 (-0.40000), got token 10 (-0.41000)",
        ),
        (
            {"output_ids": (7, 8, 99, 10, 11, 12, 13)},
            "prompt b, output token 2: expected token 9 (-0.30000), got token 99 (-0.30000)",
        ),
        (
            {"output_ids": (7, 8), "output_logprobs": (-0.1, -0.2)},
            "prompt b, output token 2: expected token 9 (-0.30000), got the end",
        ),
        (
            {"output_logprobs": (-0.1, float("nan"), -0.3, -0.4, -0.5, -0.6, -0.7)},
            "prompt b, output token 1: expected token 8 (-0.20000), got token 8 (nan)",
        ),
    ],
)
def test_the_first_divergence_is_shown(change, said) -> None:
    found = text(BOTH, (ANSWER, replace(OTHER, **change))).check

    assert not found.passed
    assert str(found.divergence) == said


def test_a_parting_between_two_equally_likely_tokens_is_a_tie() -> None:
    parted = replace(OTHER, output_ids=(7, 8, 99, 1, 1, 1, 1))
    tie = {"b": [RunnerUp(5, 3.0), RunnerUp(5, 3.0), RunnerUp(99, 1e-5)]}
    clear = {"b": [RunnerUp(5, 3.0), RunnerUp(5, 3.0), RunnerUp(99, 1e-3)]}
    another = {"b": [RunnerUp(5, 3.0), RunnerUp(5, 3.0), RunnerUp(98, 1e-5)]}

    assert text(BOTH, (ANSWER, parted), tie).check.passed
    assert text(BOTH, (ANSWER, parted), tie).ties == {"b"}
    assert not text(BOTH, (ANSWER, parted), clear).check.passed
    assert not text(BOTH, (ANSWER, parted), another).check.passed


@pytest.mark.parametrize("change", [{"verify_ct": 3}, {"histogram": (0, 1, 0, 1)}])
def test_other_steps_fail_but_after_a_tie(change) -> None:
    other = (ANSWER, replace(OTHER, **change))

    assert same_steps("c", "w", BOTH, BOTH).passed
    assert not same_steps("c", "w", BOTH, other).passed
    assert same_steps("c", "w", BOTH, other, besides={"b"}).passed
    assert not same_steps("c", "w", BOTH, BOTH, besides={"a", "b"}).passed  # nothing was compared


def test_a_version_without_histograms_is_held_to_its_counts() -> None:
    bare = tuple(replace(answer, histogram=None) for answer in BOTH)

    assert same_steps("c", "w", BOTH, bare).passed
    assert identities("c", "w", bare, depth=3).passed


@pytest.mark.parametrize(
    "change",
    [
        {"verify_ct": None},
        {"histogram": (1, 0, 1, 1)},
        {"histogram": (0, 1, 0, 1)},
        {"histogram": (0, 0, 0, 1, 1), "correct_drafts": 7},
        {"completion_tokens": 9},  # more than was accepted
        {"completion_tokens": 4},  # less than a cut of one step explains
        {"committed_drafts": 5},
    ],
)
def test_counters_that_do_not_add_up_fail(change) -> None:
    assert identities("c", "w", BOTH, depth=3).passed
    assert not identities("c", "w", (ANSWER, replace(OTHER, **change)), depth=3).passed


def depths(*windows: DecodeWindow, requests: int = 2) -> Check:
    return depth_identity("c", windows, requests=requests, depth=7, budget=15)


def test_a_window_may_commit_less_only_where_a_request_ends() -> None:
    cut = replace(WINDOW, commit_len=2.5)

    assert depths(*[WINDOW] * 20, cut, cut).passed
    assert not depths(*[WINDOW] * 20, cut, cut, cut).passed


@pytest.mark.parametrize(
    "change",
    [
        {"commit_len": 4.5},  # the bonus twice, or the root among the depth
        {"accepted_depth": 7.5, "commit_len": 8.5},  # deeper than anything drafted
        {"tree_nodes": 16.0},  # the root among the nodes
        {"commit_len": None},
    ],
)
def test_a_window_that_contradicts_itself_fails(change) -> None:
    assert depths(WINDOW).passed
    assert not depths(WINDOW, replace(WINDOW, **change)).passed


def test_a_log_without_depths_fails() -> None:
    assert not depths(replace(WINDOW, accepted_depth=None, commit_len=None)).passed
