"""The trace holds every request-step, and each of them obeys the rules of drafting."""

import json
from collections import defaultdict
from itertools import pairwise

import pytest
import requests

from ddbench.load.prompts import read_prompts

TEXTS = [prompt.text for prompt in read_prompts("builtin:mixed", 5)]


@pytest.fixture(scope="module")
def answers(ddtree):
    """By request id: greedy ones together, then sampled ones."""
    found = {}
    for temperature in (0.0, 0.8):
        body = {
            "text": TEXTS,
            "rid": f"traced-{temperature}",
            "sampling_params": {"temperature": temperature, "max_new_tokens": 40},
        }
        batch = requests.post(f"{ddtree.url}/generate", json=body, timeout=60).json()
        found |= {answer["meta_info"]["id"]: answer for answer in batch}
    return found


@pytest.fixture(scope="module")
def steps(answers, trace_path):
    by_request = defaultdict(list)
    for line in trace_path.read_text().splitlines():
        step = json.loads(line)
        by_request[step["rid"]].append(step)
    return {rid: by_request[rid] for rid in answers}


def test_the_commits_are_the_answer(answers, steps):
    for rid, answer in answers.items():
        written = [token for step in steps[rid] for token in step["commit"]]
        meta = answer["meta_info"]

        assert answer["output_ids"][1:] == written
        assert len(steps[rid]) == meta.get("spec_verify_ct", 0)
        committed = sum(len(step["commit"]) - 1 for step in steps[rid])
        assert committed == meta.get("spec_num_committed_drafts", 0)
        depths = [len(step["accepted"]) - 1 for step in steps[rid]]
        histogram = [depths.count(depth) for depth in range(max(depths, default=-1) + 1)]
        assert histogram == meta.get("spec_correct_drafts_histogram", [])


def test_steps_follow_on_each_other(answers, steps):
    for rid, answer in answers.items():
        first = steps[rid][0]
        assert first["root"] == answer["output_ids"][0]
        assert first["prefix_len"] == answer["meta_info"]["prompt_tokens"]
        assert [step["step"] for step in steps[rid]] == list(range(len(steps[rid])))
        for before, after in pairwise(steps[rid]):
            assert after["root"] == before["bonus"] == before["commit"][-1]
            assert after["prefix_len"] == before["prefix_len"] + len(before["commit"])
            assert len(before["commit"]) == len(before["accepted"])
            assert not before["finished"]
        assert steps[rid][-1]["finished"]


def test_every_tree_is_well_formed_and_best_first(steps):
    for step in (step for of_one in steps.values() for step in of_one):
        parents, tokens, depths = step["parents"], step["tokens"], step["depths"]
        assert len(parents) == len(tokens) == len(depths) == len(step["log_weights"]) == 32
        assert (parents[0], tokens[0], depths[0]) == (-1, step["root"], 0)
        assert all(0 <= parent < node for node, parent in enumerate(parents) if node)
        assert all(depths[n] == depths[p] + 1 for n, p in enumerate(parents) if n)
        assert len(set(zip(parents[1:], tokens[1:], strict=True))) == len(parents) - 1
        assert step["log_weights"] == sorted(step["log_weights"], reverse=True)


def test_every_walk_follows_the_target_as_far_as_it_goes(steps):
    for step in (step for of_one in steps.values() for step in of_one):
        parents, tokens, accepted = step["parents"], step["tokens"], step["accepted"]
        target = step["target"]
        assert accepted[0] == 0
        for parent, node in pairwise(accepted):
            assert parents[node] == parent
            assert tokens[node] == target[parent]
        last = accepted[-1]
        assert step["bonus"] == target[last]
        assert step["bonus"] not in [tokens[n] for n, p in enumerate(parents) if p == last]
        whole = [*(tokens[node] for node in accepted[1:]), step["bonus"]]
        assert step["commit"] == whole[: len(step["commit"])]


def test_a_greedy_target_chooses_at_every_node_and_a_sampling_one_on_its_path(steps):
    for rid, of_one in steps.items():
        for step in of_one:
            chosen = [node for node, token in enumerate(step["target"]) if token is not None]
            if "-0.0_" in rid:
                assert len(chosen) == 32
            else:
                assert chosen == step["accepted"]
