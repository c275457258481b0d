"""Everything that must be alike refuses when it is not, all of it in one error."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ddbench.compare.arms import ComparedArm
from ddbench.compare.gate import differences, require_comparable, trouble_at
from ddbench.errors import NotComparable
from ddbench.records import ClientHealth, RequestCompleted, RequestFailed, RunResult

Arms = dict[str, ComparedArm]
Change = Callable[..., ComparedArm]


def refused(first: ComparedArm, second: ComparedArm) -> list[str]:
    return [difference.what for difference in differences(first, second).refused]


def with_load(**changes: Any) -> Callable[[RunResult], RunResult]:
    def change(result: RunResult) -> RunResult:
        load = replace(result.trial.load, **changes)
        return replace(result, trial=replace(result.trial, load=load))

    return change


def test_two_arms_of_one_healthy_run_are_comparable(quickstart: Arms) -> None:
    found = require_comparable(quickstart["linear-8"], quickstart["tree-8-31-4"])

    assert found.unknown == ()
    assert {label.what for label in found.labels} == {
        "speculative_algorithm",
        "speculative_ddtree_budget",
        "speculative_ddtree_topk",
        "speculative_num_draft_tokens",
    }


@pytest.mark.parametrize(
    ("fact", "what"),
    [
        ("target.sha256", "target weights"),
        ("target.config_sha256", "target config"),
        ("drafter.sha256", "drafter weights"),
        ("drafter.config_sha256", "drafter config"),
        ("tokenizer.sha256", "tokenizer"),
        ("chat_template.sha256", "chat template"),
        ("server.version", "SGLang version"),
        ("gpu.0.name", "GPU"),
        ("cpu.model", "CPU"),
    ],
)
def test_a_fact_that_differs_refuses_and_is_named(quickstart: Arms, fact: str, what: str) -> None:
    linear, tree = quickstart["linear-8"], quickstart["tree-8-31-4"]
    other = replace(tree, facts={**tree.facts, fact: "another"})

    assert refused(linear, other) == [what]


@pytest.mark.parametrize(
    "setting",
    [
        *("dtype", "quantization", "kv_cache_dtype", "tp_size", "dp_size", "page_size"),
        *("max_running_requests", "disable_radix_cache", "disable_overlap_schedule"),
        *("disable_cuda_graph", "skip_server_warmup", "chunked_prefill_size"),
    ],
)
def test_a_server_argument_that_differs_refuses(quickstart: Arms, setting: str) -> None:
    linear, tree = quickstart["linear-8"], quickstart["tree-8-31-4"]
    one = replace(linear, settings={**linear.settings, setting: "a"})
    other = replace(tree, settings={**tree.settings, setting: "b"})

    assert refused(one, other) == [setting]


def test_the_effective_number_of_running_requests_refuses_in_both_of_its_shapes(
    quickstart: Arms,
) -> None:
    linear, tree = quickstart["linear-8"], quickstart["tree-8-31-4"]
    state = '[{"effective_max_running_requests_per_dp": 48}]'
    capped = replace(tree, facts={**tree.facts, "server.internal_state": state})

    assert refused(linear, capped) == ["effective max running requests"]
    assert "8 against 48" in str(differences(linear, capped).refused[0])


@pytest.mark.parametrize(
    "change",
    [
        {"prompts": "other.jsonl"},
        {"temperature": 0.7},
        {"ignore_eos": True},
        {"max_new_tokens": 128},
        {"logprobs": True},
        {"rate_per_s": 2.0},
    ],
)
def test_another_load_refuses(
    quickstart: Arms, change_trials: Change, change: dict[str, Any]
) -> None:
    linear = quickstart["linear-8"]
    other = change_trials(quickstart["tree-8-31-4"], with_load(**change))

    assert refused(linear, other) == [next(iter(change)).replace("_", " ")]


def test_a_seed_matters_for_sampled_answers_only(quickstart: Arms, change_trials: Change) -> None:
    linear, tree = quickstart["linear-8"], quickstart["tree-8-31-4"]
    seeded = change_trials(tree, with_load(seed=7))
    sampled = [
        change_trials(arm, with_load(temperature=1.0, seed=seed))
        for seed, arm in enumerate((linear, tree))
    ]

    assert refused(linear, seeded) == []
    assert refused(*sampled) == ["seed"]


def test_one_prompt_id_with_two_texts_is_noticed_by_its_length(
    quickstart: Arms, change_requests: Change
) -> None:
    def longer(request: RequestCompleted) -> RequestCompleted:
        extra = 3 if request.prompt_id == "code-000" else 0
        return replace(request, prompt_tokens=request.prompt_tokens + extra)

    other = change_requests(quickstart["tree-8-31-4"], longer)

    assert refused(quickstart["linear-8"], other) == ["prompt tokens of code-000"]


def test_prompts_that_one_side_lacks_and_answers_of_another_length_refuse(
    quickstart: Arms, change_requests: Change, change_trials: Change
) -> None:
    tree = quickstart["tree-8-31-4"]
    fewer = change_trials(tree, lambda t: replace(t, requests=t.requests[1:]))
    longer = change_requests(
        tree, lambda r: replace(r, completion_tokens=round(r.completion_tokens * 1.1))
    )

    assert refused(quickstart["linear-8"], fewer) == ["prompt ids"]
    assert refused(quickstart["linear-8"], longer) == ["output tokens of the same prompts"]


def test_steps_from_graphs_on_one_side_only_refuse_whatever_the_flags_say(
    quickstart: Arms, change_trials: Change
) -> None:
    def graphs(trial: RunResult) -> RunResult:
        windows = tuple(replace(window, graph=True) for window in trial.log.decode)
        return replace(trial, log=replace(trial.log, decode=windows))

    other = change_trials(quickstart["tree-8-31-4"], graphs)

    assert refused(quickstart["linear-8"], other) == ["steps from CUDA graphs"]


def test_another_block_size_refuses(quickstart: Arms) -> None:
    tree = quickstart["tree-8-31-4"]
    server = replace(tree.server, speculation=replace(tree.speculation, block_size=16))

    assert refused(quickstart["linear-8"], replace(tree, server=server)) == ["block size"]


def test_launches_of_one_arm_that_disagree_on_the_weights_refuse(quickstart: Arms) -> None:
    torn = replace(quickstart["tree-8-31-4"], unsteady=("target.sha256",))

    assert refused(quickstart["linear-8"], torn) == ["launches of tree-8-31-4 among themselves"]


def test_patches_and_the_attention_backend_are_labels(quickstart: Arms) -> None:
    tree = quickstart["tree-8-31-4"]
    other = replace(
        tree,
        server=replace(tree.server, patches="ddtree"),
        settings={**tree.settings, "attention_backend": "triton", "cuda_graph_max_bs": "64"},
    )

    found = differences(quickstart["linear-8"], other)

    assert found.refused == ()
    assert {"patches", "attention_backend", "cuda_graph_max_bs"} <= {x.what for x in found.labels}


def test_one_error_lists_everything_and_says_how_to_equal_the_overlap(quickstart: Arms) -> None:
    linear, tree = quickstart["linear-8"], quickstart["tree-8-31-4"]
    other = replace(
        tree,
        facts={**tree.facts, "target.sha256": "0" * 64},
        settings={**tree.settings, "dtype": "bfloat16"},
    )
    overlapped = replace(linear, settings={**linear.settings, "disable_overlap_schedule": "false"})

    with pytest.raises(NotComparable, match=r"(?s)target weights.*dtype: float32 against bfloat16"):
        require_comparable(linear, other)
    with pytest.raises(NotComparable) as error:
        require_comparable(overlapped, tree)
    assert "disable-overlap-schedule" in error.value.remedy


def test_what_neither_side_reports_is_listed_as_unknown(quickstart: Arms) -> None:
    bare = [
        replace(quickstart[name], facts={}, settings={}) for name in ("linear-8", "tree-8-31-4")
    ]

    found = differences(*bare)

    assert found.refused == ()
    assert {"target weights", "drafter weights", "tokenizer", "dtype"} <= set(found.unknown)


def test_a_healthy_cell_has_no_trouble(quickstart: Arms) -> None:
    for arm in quickstart.values():
        for concurrency in arm.concurrencies:
            assert trouble_at(concurrency, arm.at(concurrency)) == []


def test_a_concurrency_that_was_missed_by_more_than_5_percent_is_trouble(
    quickstart: Arms,
) -> None:
    trials = quickstart["linear-8"].at(4)

    found = trouble_at(5, trials)

    assert len(found) == 2
    assert "achieved concurrency 3.98, asked for 5" in found[0]


def test_a_failed_request_and_a_slow_client_are_trouble(quickstart: Arms) -> None:
    (trial, _) = quickstart["linear-8"].at(4)
    lost = replace(trial, requests=(*trial.requests[1:], RequestFailed("code-000", 0, 0, "reset")))
    busy = replace(trial, client=ClientHealth((trial.wall_s or 0) * 0.9, 0.0, 3))

    assert trouble_at(4, [lost]) == ["repeat 0: 1 requests failed"]
    assert "processor time" in trouble_at(4, [busy])[0]
    assert trouble_at(4, []) == ["no done trial"]
