"""Equal answers, near ties and errors are told apart, and an arm's own noise is measured."""

from collections.abc import Callable
from dataclasses import replace
from math import log

import pytest

from ddbench.compare.answers import Agreement, Divergence, agreement, self_agreement
from ddbench.compare.arms import ComparedArm
from ddbench.compare.lossless import losslessness, outcome_of
from ddbench.records import RequestCompleted, RunResult

Arms = dict[str, ComparedArm]
Change = Callable[..., ComparedArm]
PROMPT, POSITION = "code-000", 5


def another_token(
    *, position: int = POSITION, logprob: float | None = None
) -> Callable[[RequestCompleted], RequestCompleted]:
    """Of one prompt; with the log-probability that this arm gives its own choice."""

    def change(request: RequestCompleted) -> RequestCompleted:
        if request.prompt_id != PROMPT:
            return request
        ids = list(request.output_ids or ())
        ids[position] += 1
        probs = list(request.output_logprobs or ())
        if logprob is not None:
            probs[position] = logprob
        return replace(request, output_ids=tuple(ids), output_logprobs=tuple(probs) or None)

    return change


def likely_there(logprob: float) -> Callable[[RequestCompleted], RequestCompleted]:
    def change(request: RequestCompleted) -> RequestCompleted:
        probs = list(request.output_logprobs or ())
        if request.prompt_id == PROMPT:
            probs[POSITION] = logprob
        return replace(request, output_logprobs=tuple(probs))

    return change


@pytest.mark.parametrize("arm", ["linear-8", "tree-8-7-4", "tree-8-31-4", "tree-8-7-1"])
def test_every_shipped_arm_says_what_the_plain_one_says(quickstart: Arms, arm: str) -> None:
    for concurrency in (1, 4, 8):
        found = agreement(
            quickstart["autoregressive"].at(concurrency), quickstart[arm].at(concurrency)
        )

        assert (found.compared, found.identical, found.first) == (48, 48, None)
        assert outcome_of(found) == "lossless"


def test_the_first_divergence_is_named_and_without_logprobs_its_cause_is_not_known(
    quickstart: Arms, change_requests: Change
) -> None:
    odd = change_requests(quickstart["tree-8-31-4"], another_token())

    found = agreement(quickstart["autoregressive"].at(4), odd.at(4))

    assert found.first is not None
    assert (found.identical, found.first.prompt_id, found.first.position) == (47, PROMPT, POSITION)
    assert found.first.cause == "not known"
    assert outcome_of(found) == "not known"


@pytest.mark.parametrize(
    ("mine", "theirs", "cause", "outcome"),
    [
        (0.49, 0.48, "near tie", "near ties"),
        (0.9, 0.05, "no tie", "lossy"),
        (0.9, 0.88, "no tie", "lossy"),  # together over 1: not one distribution
    ],
)
def test_a_near_tie_is_no_loss_and_two_distributions_are(
    with_logprobs: Arms,
    change_requests: Change,
    mine: float,
    theirs: float,
    cause: str,
    outcome: str,
) -> None:
    plain = change_requests(with_logprobs["autoregressive"], likely_there(log(mine)))
    odd = change_requests(with_logprobs["tree-8-31-4"], another_token(logprob=log(theirs)))

    found = agreement(plain.at(1), odd.at(1))

    assert found.first is not None
    assert found.first.cause == cause
    assert outcome_of(found) == outcome


@pytest.mark.parametrize(
    ("own", "outcome"), [(0, "lossy"), (1, "lossy"), (3, "within noise"), (20, "within noise")]
)
def test_a_loss_must_be_more_than_plain_decoding_differs_from_itself(
    own: int, outcome: str
) -> None:
    """5 of 48 part at no tie; 3 of its own repeats allow 3 + 2 x 1.68 = 6.4, and 1 allows 3.0."""

    def parted(number: int) -> Agreement:
        return Agreement(48, tuple(Divergence(f"p{n}", 3, "no tie") for n in range(number)))

    assert outcome_of(parted(5), parted(own)) == outcome
    assert outcome_of(parted(5), None) == "lossy"


def test_an_answer_that_goes_on_where_the_other_ends_parts_at_its_end(
    quickstart: Arms, change_requests: Change
) -> None:
    def cut(request: RequestCompleted) -> RequestCompleted:
        return replace(request, output_ids=(request.output_ids or ())[:20])

    found = agreement(
        quickstart["autoregressive"].at(1), change_requests(quickstart["linear-8"], cut).at(1)
    )

    assert found.first is not None
    assert (found.first.position, found.first.cause) == (20, "length")


def test_an_arm_is_held_against_itself_across_repeats(
    quickstart: Arms, change_trials: Change
) -> None:
    def second_differs(trial: RunResult) -> RunResult:
        if trial.trial.repeat == 0:
            return trial
        return replace(trial, requests=tuple(map(another_token(), trial.completed)))

    steady = self_agreement(quickstart["linear-8"].at(8))
    odd = self_agreement(change_trials(quickstart["linear-8"], second_differs).at(8))

    assert steady is not None
    assert odd is not None
    assert (steady.compared, steady.identical) == (48, 48)
    assert (odd.compared, odd.identical) == (48, 47)
    assert self_agreement(quickstart["linear-8"].at(8)[:1]) is None


def test_every_drafting_arm_is_compared_at_every_concurrency(quickstart: Arms) -> None:
    found = losslessness(list(quickstart.values()))

    assert len(found) == 5 * 3
    assert {one.outcome for one in found} == {"lossless"}
    assert {one.reference for one in found} == {"autoregressive"}


def test_other_weights_are_not_called_a_loss(quickstart: Arms) -> None:
    tree = quickstart["tree-8-31-4"]
    other = replace(tree, facts={**tree.facts, "target.sha256": "0"})

    (first, *_) = losslessness([quickstart["autoregressive"], other])

    assert first.outcome == "not compared"
    assert "target weights" in first.why[0]


def test_sampled_answers_are_not_held_against_each_other(
    quickstart: Arms, change_trials: Change
) -> None:
    def sampled(trial: RunResult) -> RunResult:
        load = replace(trial.trial.load, temperature=0.8)
        return replace(trial, trial=replace(trial.trial, load=load))

    arms = [change_trials(quickstart[n], sampled) for n in ("autoregressive", "linear-8")]

    (first, *_) = losslessness(arms)

    assert first.outcome == "not compared"
    assert "temperature 0" in first.why[0]
