"""What is said of a tree, by the interval of its tokens per step."""

from dataclasses import replace

import pytest

from ddbench.compare.drafter import Speed, TreeVerdict, outcome_of
from ddbench.stats.interval import Interval


def ratio(low: float | None, high: float | None, value: float = 1.0) -> Interval:
    return Interval(value, low, high, 48, 0.95, "log jackknife over prompts")


HELPS = TreeVerdict(
    drafter="builtin",
    tree="tree-8-31-4",
    linear="linear-8",
    predicted=ratio(1.268, 1.369, 1.318),
    ceiling=ratio(1.41, 1.56, 1.48),
    measured=ratio(1.267, 1.371, 1.319),
    speeds=(
        Speed(1, ratio(1.02, 1.10, 1.06), "better"),
        Speed(4, None, "not measured"),
        Speed(8, ratio(0.70, 0.80, 0.75), "worse"),
    ),
    greedy=True,
)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (1.10, 1.20, "helps"),
        (1.001, 1.02, "helps"),
        (1.001, 1.009, "cannot help"),
        (0.99, 1.005, "cannot help"),
        (0.80, 0.90, "cannot help"),
        (0.99, 1.02, "not decided"),
        (None, None, "not decided"),
    ],
)
def test_the_whole_interval_decides(low: float | None, high: float | None, outcome: str) -> None:
    assert outcome_of(ratio(low, high)) == outcome


def test_the_sentence_parts_tokens_per_step_from_time() -> None:
    steps, time = HELPS.sentence.split(". ", 1)

    assert steps == (
        "the tree helps: tokens/step 1.319x [1.267, 1.371] n=48 measured, as predicted from the "
        "recorded drafts (1.318x [1.268, 1.369] n=48)"
    )
    assert time == (
        "In tok/s, which also pays for the wider verification: 1.06x [1.02, 1.10] n=48 (better) at "
        "concurrency 1, no usable trials at concurrency 4, 0.75x [0.70, 0.80] n=48 (worse) at "
        "concurrency 8."
    )


def test_a_speed_is_seen_on_the_side_of_1_that_its_verdict_is_on() -> None:
    close = replace(HELPS, speeds=(Speed(4, ratio(1.0002, 1.1265, 1.0615), "better"),))

    assert "1.0615x [1.0002, 1.1265] n=48 (better) at concurrency 4" in close.sentence


def test_what_was_measured_outweighs_the_promise_and_the_two_are_held_together() -> None:
    broken = replace(HELPS, measured=ratio(0.90, 0.99, 0.95))

    assert broken.outcome == "cannot help"
    assert broken.agrees is False
    assert broken.sentence.startswith("the tree cannot help: tokens/step 0.950x [0.900, 0.990]")
    assert "but the recorded drafts predict 1.318x" in broken.sentence
    assert "--validate" in broken.sentence


def test_a_tree_that_was_not_run_is_judged_by_its_promise_and_says_so() -> None:
    promised = replace(HELPS, measured=None, speeds=())

    assert promised.outcome == "helps"
    assert promised.agrees is None
    assert "predicted from the recorded drafts, not measured here" in promised.sentence
    assert promised.sentence.endswith("What it costs in time was not measured.")


def test_few_prompts_decide_nothing() -> None:
    few = replace(HELPS, measured=ratio(None, None, 1.3))

    assert few.outcome == "not decided"
    assert few.agrees is None
    assert few.sentence.startswith("whether the tree helps is not decided: tokens/step 1.300x n=48")


def test_samples_do_not_contradict_a_replay() -> None:
    sampled = replace(HELPS, measured=ratio(0.90, 0.99, 0.95), greedy=False)

    assert sampled.agrees is None
    assert "ranks say" not in sampled.sentence
