"""What counts as a difference between two servers' answers."""

from dataclasses import replace

import pytest

from ddbench.conformance.differential import differential
from ddbench.errors import NotComparable
from ddbench.records import RequestCompleted

ANSWER = RequestCompleted(
    prompt_id="a",
    sent_s=0.0,
    lateness_s=0.0,
    ttft_s=0.1,
    e2e_s=1.0,
    prompt_tokens=5,
    completion_tokens=4,
    output_ids=(7, 8, 9, 10),
    output_logprobs=(-0.1, -0.2, -0.3, -0.4),
    finish_reason="length",
    retractions=0,
    cached_tokens=0,
    verify_ct=2,
    correct_drafts=1,
    committed_drafts=None,
    histogram=(1, 1),
)
OTHER = replace(ANSWER, prompt_id="b")


def test_the_same_answers_conform() -> None:
    found = differential([ANSWER, OTHER], [ANSWER, OTHER])

    assert found.conforms()
    assert found.max_logprob == 0.0


def test_float_noise_conforms_and_anything_more_does_not() -> None:
    noisy = replace(ANSWER, output_logprobs=(-0.1, -0.2, -0.3, -0.40001))
    wrong = replace(ANSWER, output_logprobs=(-0.1, -0.2, -0.301, -0.4))

    assert differential([ANSWER], [noisy]).conforms()
    assert not differential([ANSWER], [wrong]).conforms()


def test_after_the_outputs_part_nothing_is_compared() -> None:
    """A later token's log-probability is that of another text."""
    parted = replace(ANSWER, output_ids=(7, 8, 1, 10), output_logprobs=(-0.1, -0.2, -0.35, -9.0))

    found = differential([ANSWER, OTHER], [parted, OTHER])

    assert found.parted == 1
    assert found.requests[0].first_token == 2
    assert found.max_logprob == pytest.approx(0.05)
    assert not found.conforms(tolerance=1.0)


def test_an_output_that_ends_early_parts_where_it_ends() -> None:
    short = replace(ANSWER, output_ids=(7, 8), output_logprobs=(-0.1, -0.2))

    assert differential([ANSWER], [short]).requests[0].first_token == 2


@pytest.mark.parametrize("change", [{"verify_ct": 3}, {"histogram": (0, 2)}])
def test_the_same_tokens_in_other_steps_do_not_conform(change: dict[str, object]) -> None:
    found = differential([ANSWER], [replace(ANSWER, **change)])  # type: ignore[arg-type]

    assert (found.parted, found.other_steps) == (0, 1)
    assert not found.conforms()


@pytest.mark.parametrize(
    "other", [replace(ANSWER, prompt_id="z"), replace(ANSWER, prompt_tokens=6)]
)
def test_other_prompts_are_refused(other: RequestCompleted) -> None:
    with pytest.raises(NotComparable, match="same prompts"):
        differential([ANSWER], [other])


@pytest.mark.parametrize("lacking", ["output_ids", "output_logprobs"])
def test_answers_without_what_is_compared_are_refused(lacking: str) -> None:
    with pytest.raises(NotComparable, match="has no"):
        differential([ANSWER], [replace(ANSWER, **{lacking: None})])  # type: ignore[arg-type]


def test_no_answers_at_all_are_refused() -> None:
    with pytest.raises(NotComparable, match="no request"):
        differential([], [])
