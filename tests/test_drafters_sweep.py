"""`sweeps/drafters.yaml` from end to end: what is said of each drafter is what was measured."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SWEEP = Path(__file__).parent.parent / "sweeps" / "drafters.yaml"


@pytest.fixture(scope="module")
def drafters(
    ddbench: Callable[..., CompletedProcess[str]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Recording arm -> its report. The same sweep with answers of half the length."""
    folder = tmp_path_factory.mktemp("drafters")
    text = SWEEP.read_text().replace("max_new_tokens: 64", "max_new_tokens: 32")
    (folder / "drafters.yaml").write_text(text.replace("repeats: 2", "repeats: 1"))
    run = folder / "run"
    done = ddbench("sweep", folder / "drafters.yaml", "--out", run, timeout_s=1100.0)
    assert done.returncode == 0, done.stderr
    judged = ddbench("compare", "drafters", run, "--json")
    assert judged.returncode == 0, judged.stderr
    return {one["arm"]: one for one in json.loads(judged.stdout)["drafters"]}


ARMS = ("linear-8-drafts", "undertrained-drafts", "shuffled-drafts")


@pytest.mark.parametrize("arm", ARMS)
def test_the_sentence_agrees_with_the_measured_interval(drafters: dict[str, Any], arm: str) -> None:
    (tree,) = drafters[arm]["trees"]
    measured = tree["measured"]

    low, high = measured["low"], measured["high"]
    if tree["outcome"] == "helps":
        assert low > 1.0
        assert tree["sentence"].startswith("the tree helps")
    elif tree["outcome"] == "cannot help":
        assert high < 1.01
        assert tree["sentence"].startswith("the tree cannot help")
    else:
        assert low <= 1.0 <= high
    assert f"[{low:.3f}, {high:.3f}] n=64 measured" in tree["sentence"]
    assert measured["n"] == 64


@pytest.mark.parametrize("arm", ARMS)
def test_the_same_run_measures_what_its_recording_predicts(
    drafters: dict[str, Any], arm: str
) -> None:
    (tree,) = drafters[arm]["trees"]

    assert tree["agrees"]
    assert tree["measured"]["value"] == pytest.approx(tree["predicted"]["value"], rel=0.005)
    assert tree["ceiling"]["value"] >= tree["predicted"]["value"]


def test_a_tree_cannot_help_a_drafter_with_shuffled_ranks(drafters: dict[str, Any]) -> None:
    (tree,) = drafters["shuffled-drafts"]["trees"]

    assert tree["outcome"] == "cannot help"
    assert tree["linear"] == "shuffled-linear"
    coverage = drafters["shuffled-drafts"]["facts"]["coverage"][0]["at"]
    assert coverage["4"]["value"] - coverage["1"]["value"] < 0.01


def test_the_trained_drafter_covers_more_than_the_undertrained_one(
    drafters: dict[str, Any],
) -> None:
    trained, undertrained = (
        drafters[arm]["facts"]["coverage"][0]["at"]["1"]
        for arm in ("linear-8-drafts", "undertrained-drafts")
    )

    assert trained["low"] > undertrained["high"]
