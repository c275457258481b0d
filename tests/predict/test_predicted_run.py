"""The whole way: a sweep on the embedded engine that records, and what is predicted from it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import orjson
import pytest

from ddbench.checks.run import Report as Checked
from ddbench.draft_records import prompt_of, read_recording
from ddbench.plan.read import parse_sweep, read_sweep
from ddbench.predict.acceptance import acceptance
from ddbench.predict.forecast import Forecaster
from ddbench.predict.next_sweep import next_sweep, settings_to_measure
from ddbench.predict.recorded import RecordedArm, recorded_arm
from ddbench.predict.replay import Grid
from ddbench.predict.validation import passes, validate
from ddbench.records import RunResult
from ddbench.report.assemble import assemble
from ddbench.report.drafters import drafter_reports
from ddbench.report.page import render_page
from ddbench.report.plain_data import plain_data
from ddbench.report.prediction import predict
from ddbench.runs.store import RunStore

pytestmark = pytest.mark.timeout(600)  # five servers start, one after the other

Ddbench = Callable[..., CompletedProcess[str]]

ARMS = (
    "[linear: {block_size: 8, record_drafts: true}, autoregressive, linear: {block_size: 8}, "
    "tree: {block_size: 8, budget: [6, 21, 57], topk: [5]}]"
)


@pytest.fixture(scope="module")
def run(
    ddbench: Ddbench, write_sweep: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Recorded at concurrency 1 and measured at 1 and 3, eight prompts."""
    folder = tmp_path_factory.mktemp("run") / "recorded"
    sweep = write_sweep(arms=ARMS, count=8, concurrency="[1, 3]", max_new_tokens=32)
    done = ddbench("sweep", sweep, "--out", folder, timeout_s=560.0)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def predicted(ddbench: Ddbench, run: Path) -> dict[str, Any]:
    done = ddbench("predict", run, "--json", "--topk", "1:20")
    assert done.returncode == 0, done.stderr
    data: dict[str, Any] = orjson.loads(done.stdout)
    return data


@pytest.fixture(scope="module")
def recorded(run: Path) -> tuple[RecordedArm, list[RunResult], str]:
    """The recording, every result of the run, and its sweep file."""
    with RunStore.open(run) as store:
        results = list(store.results())
        return recorded_arm(run, store.launches(), results, arm=None), results, store.plan_text


def test_every_answer_takes_the_predicted_steps_in_every_arm(ddbench: Ddbench, run: Path) -> None:
    done = ddbench("predict", run, "--validate", "--json")

    validation = orjson.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    assert validation["passes"]
    arms = {arm["arm"]: arm for arm in validation["arms"]}
    assert set(arms) == {"linear-8", "tree-8-6-5", "tree-8-21-5", "tree-8-57-5"}
    assert all(arm["compared"] == 16 for arm in arms.values())
    assert len({arm["measured_steps"] for arm in arms.values()}) >= 3


def test_the_recording_arm_runs_once_and_commits_one_token_a_step(run: Path) -> None:
    with RunStore.open(run) as store:
        (probe,) = [r for r in store.results() if r.trial.arm == "linear-8-drafts"]

    assert probe.trial.load.record_drafts
    assert all(r.verify_ct == r.completion_tokens - 1 for r in probe.completed)


def test_recorded_answers_are_those_of_the_other_arms(run: Path) -> None:
    (path,) = run.glob("*.drafts")
    recorded = {prompt_of(answer.rid): answer.output_ids for answer in read_recording(path).answers}
    with RunStore.open(run) as store:
        requests = [r for result in store.results() for r in result.completed]

    assert all(list(r.output_ids or ()) == recorded[r.prompt_id] for r in requests)


def test_a_timed_cell_is_predicted_to_be_as_fast_as_it_was(
    predicted: dict[str, Any], run: Path
) -> None:
    """Its own step time times its replayed steps: only rounding is left between the two."""
    with RunStore.open(run) as store:
        for result in store.results():
            if result.trial.load.record_drafts:
                continue
            tokens = sum(r.completion_tokens for r in result.completed)
            assert result.wall_s is not None
            concurrency = predicted["concurrencies"][str(result.trial.load.concurrency)]
            (own,) = [s for s in concurrency["settings"] if s["timed"] == result.trial.arm]
            assert own["tokens_per_s"] == pytest.approx(tokens / result.wall_s, rel=1e-6)


def test_nothing_is_predicted_outside_of_the_timed_widths(predicted: dict[str, Any]) -> None:
    settings = predicted["concurrencies"]["1"]["settings"]

    budgets = {s["budget"] for s in settings if s["budget"] is not None}
    assert (min(budgets), max(budgets)) == (6, 57)
    assert predicted["concurrencies"]["1"]["not_predicted"]


def test_only_a_topk_beyond_the_recorded_can_be_uncertain(predicted: dict[str, Any]) -> None:
    settings = predicted["concurrencies"]["1"]["settings"]

    assert all(s["cut_share"] == 0 for s in settings if (s["topk"] or 0) <= 16)


def test_the_cell_in_the_middle_is_held_out_and_its_error_told(
    predicted: dict[str, Any], ddbench: Ddbench, run: Path
) -> None:
    errors = {(h["arm"], h["concurrency"]): h["error"] for h in predicted["held_out"]}
    assert [key for key, error in errors.items() if error is not None] == [
        ("tree-8-21-5", 1),
        ("tree-8-21-5", 3),
    ]

    text = ddbench("predict", run).stdout

    assert "Error on held-out cells: median" in text
    assert "Recommended at 3 (*):" in text


def test_writes_a_sweep_of_three_to_five_untimed_trees(
    ddbench: Ddbench, run: Path, tmp_path: Path
) -> None:
    done = ddbench("predict", run, "--write-sweep", tmp_path / "next.yaml")

    assert done.returncode == 0, done.stderr
    plan = read_sweep(tmp_path / "next.yaml")
    assert plan.name == "small-next"
    linear, *trees = plan.arms
    assert linear.name == "linear-8"
    assert 3 <= len(trees) <= 5
    assert not {arm.name for arm in trees} & {"tree-8-6-5", "tree-8-21-5", "tree-8-57-5"}
    assert not any(server.record_drafts for server in plan.servers)


def test_an_existing_file_is_not_written_over(ddbench: Ddbench, run: Path) -> None:
    done = ddbench("predict", run, "--write-sweep", run / "sweep.yaml")

    assert done.returncode == 2
    assert "exists" in done.stderr


def test_a_slow_enough_wish_recommends_nothing(ddbench: Ddbench, run: Path) -> None:
    done = ddbench("predict", run, "--slo", "0.001")

    assert "no setting is predicted to keep mean tpot_s < 1e-06" in done.stdout


def test_a_wish_is_written_as_for_a_comparison(ddbench: Ddbench, run: Path) -> None:
    kept, refused = (
        ddbench("predict", run, "--json", "--slo", wish)
        for wish in ("tpot_s<60,ttft_s<60", "ttft_s.p95<1")
    )

    concurrencies = orjson.loads(kept.stdout)["concurrencies"]
    assert all(one["recommended"] is not None for one in concurrencies.values())
    assert refused.returncode == 2
    assert "p95 ttft_s < 1 cannot be predicted" in refused.stderr


def test_a_concurrency_that_was_not_timed_is_refused(ddbench: Ddbench, run: Path) -> None:
    done = ddbench("predict", run, "--concurrency", "2")

    assert done.returncode == 2
    assert "nothing was timed at concurrency 2" in done.stderr


@pytest.mark.parametrize("budgets", ["", "7,", "0:4", "9:3", "many"])
def test_budgets_that_are_no_numbers_are_refused(ddbench: Ddbench, run: Path, budgets: str) -> None:
    done = ddbench("predict", run, "--budgets", budgets)

    assert done.returncode == 2
    assert "--budgets" in done.stderr


def test_a_torn_recording_is_used_as_far_as_it_goes(
    ddbench: Ddbench, run: Path, tmp_path: Path
) -> None:
    shutil.copytree(run, tmp_path / "torn")
    (path,) = (tmp_path / "torn").glob("*.drafts")
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])

    done = ddbench("predict", tmp_path / "torn", "--validate")

    assert done.returncode == 0, done.stdout
    assert "unfinished or damaged frame" in done.stderr
    assert "prompts were not recorded whole" in done.stderr


def test_a_run_without_a_recording_says_how_to_get_one(
    ddbench: Ddbench, write_sweep: Callable[..., Path], tmp_path: Path
) -> None:
    done = ddbench("sweep", write_sweep(count=2, max_new_tokens=4), "--out", tmp_path / "plain")
    assert done.returncode == 0, done.stderr

    done = ddbench("predict", tmp_path / "plain")

    assert done.returncode == 2
    assert "record_drafts: true" in done.stderr


def test_the_drafter_is_judged_from_the_same_recording(ddbench: Ddbench, run: Path) -> None:
    """Eight prompts allow no interval, so nothing is decided; the numbers are those of the run."""
    (drafter,) = orjson.loads(ddbench("compare", "drafters", run, "--json").stdout)["drafters"]
    text = ddbench("compare", "linear-vs-tree", run).stdout

    trees = {tree["tree"]: tree for tree in drafter["trees"]}
    assert list(trees) == ["tree-8-57-5", "tree-8-21-5", "tree-8-6-5"]
    for tree in trees.values():
        assert tree["measured"]["value"] == pytest.approx(tree["predicted"]["value"])
        assert tree["ceiling"]["value"] >= tree["predicted"]["value"]
        assert tree["outcome"] == "not decided"
    assert drafter["facts"]["prompts"] == 8
    assert "whether the tree helps is not decided: tokens/step" in " ".join(text.split())


def test_draws_a_panel_of_acceptance_and_one_a_concurrency(
    ddbench: Ddbench, run: Path, tmp_path: Path
) -> None:
    done = ddbench("predict", run, "--heat-map", tmp_path / "map.svg")

    assert done.returncode == 0, done.stderr
    svg = (tmp_path / "map.svg").read_text()
    assert svg.count("<g ") == 3
    assert "Predicted tok/s at concurrency 3" in svg


def test_a_step_too_many_fails_the_validation_and_is_named(
    recorded: tuple[RecordedArm, list[RunResult], str],
) -> None:
    arm, results, _ = recorded
    wrong = next(r for r in results if r.trial.arm == "tree-8-21-5")
    first, *others = wrong.completed
    assert first.verify_ct is not None
    longer = replace(first, verify_ct=first.verify_ct + 1)

    (validation,) = validate(arm, [replace(wrong, requests=(longer, *others))])

    assert not passes([validation])
    (difference,) = validation.differences
    assert (difference.prompt_id, difference.measured) == (first.prompt_id, longer.verify_ct)
    assert difference.predicted == first.verify_ct
    assert not difference.is_tie


def test_a_trial_without_an_answer_is_not_compared(
    recorded: tuple[RecordedArm, list[RunResult], str],
) -> None:
    arm, results, _ = recorded
    result = next(r for r in results if r.trial.arm == "linear-8")

    assert validate(arm, [replace(result, requests=())]) == []


def test_another_text_is_not_compared(recorded: tuple[RecordedArm, list[RunResult], str]) -> None:
    arm, results, _ = recorded
    result = next(r for r in results if r.trial.arm == "linear-8")
    other = tuple(replace(r, output_ids=(0, *(r.output_ids or ())[1:])) for r in result.completed)

    (validation,) = validate(arm, [replace(result, requests=other)])

    assert (validation.compared, validation.other_text) == (0, len(other))
    assert not passes([validation])


def test_without_timed_trees_the_next_sweep_is_a_ladder_of_widths(
    recorded: tuple[RecordedArm, list[RunResult], str],
) -> None:
    arm, _, plan_text = recorded
    grid = acceptance(arm.prompts, Grid((1, 2, 4), tuple(range(1, 41))))

    settings = settings_to_measure(Forecaster(arm, grid, cells=[]), {})

    assert [setting.budget for setting in settings] == [7, 15, 31]
    plan = parse_sweep(next_sweep(plan_text, settings), file="next.yaml")
    assert [a.speculation.budget for a in plan.arms] == [None, 7, 15, 31]


def test_a_run_that_timed_nothing_still_tells_acceptance(
    ddbench: Ddbench, write_sweep: Callable[..., Path], tmp_path: Path
) -> None:
    arms = "[linear: {block_size: 8, record_drafts: true}]"
    sweep = write_sweep(arms=arms, count=2, max_new_tokens=8)
    assert ddbench("sweep", sweep, "--out", tmp_path / "only").returncode == 0

    done = ddbench("predict", tmp_path / "only")

    assert done.returncode == 0, done.stderr
    assert "Nothing was timed beside the recording" in done.stdout
    assert "topk 16" in done.stdout


def test_the_report_of_the_run_shows_what_was_predicted(
    run: Path, predicted: dict[str, Any]
) -> None:
    with RunStore.open(run) as store:
        launches, results = store.launches(), list(store.results())

    report = assemble(
        *("recorded", launches, results),
        checked=Checked((), ()),
        drafters=drafter_reports(run, launches, results),
        predicted=predict(run, launches, results),
    )
    data = plain_data(report)
    page = render_page(report)

    assert data["not_predicted"] is None
    best = {one.concurrency: one for one in data["prediction"]["best"]}
    settings = {
        (concurrency, setting["setting"]): setting
        for concurrency, found in predicted["concurrencies"].items()
        for setting in found["settings"]
    }
    assert set(best) == {1, 3}
    for concurrency, one in best.items():
        setting = settings[str(concurrency), one.setting]
        assert one.tokens_per_s.value == pytest.approx(setting["tokens_per_s"])
    assert "panels" not in data["prediction"]
    assert len(data["drafters"]) == 1
    assert page.count("Predicted tok/s at concurrency") >= 2
    assert 'id="drafters"' in page
