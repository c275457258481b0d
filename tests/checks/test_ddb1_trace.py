"""DDB140-DDB153: what must hold inside one verify step."""

from dataclasses import replace
from math import log

import orjson
import pytest

from ddbench.checks.evidence import Evidence
from ddbench.checks.step_trace import read_step_trace
from ddbench.errors import LogFormatError
from ddbench.records import Speculation

STEP_RULES = [f"DDB{code}" for code in (140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150)]


@pytest.fixture
def trace(step, tree):
    """A step with changes, then the step that follows the healthy one."""

    def make(**changes):
        first = step(**changes)
        second = step(step=1, prefix_len=19, tokens=(50, 11, 12, 13))
        return Evidence("trace", speculation=tree, steps=(first, second))

    return make


@pytest.mark.parametrize("code", STEP_RULES)
def test_a_right_trace_is_silent(trace, silent, code):
    silent(code, trace())


def test_a_walk_deeper_than_its_tree_fires(trace, fired, silent, step):
    silent("DDB140", trace())
    shallow = Speculation("DDTREE", block_size=2, budget=3, topk=3)
    fired("DDB140", Evidence("t", speculation=shallow, steps=(step(),)), "2 drafts, 1 is most")


def test_accepted_nodes_that_are_no_path_fire(trace, fired, silent):
    silent("DDB141", trace())
    fired("DDB141", trace(accepted=(0, 2, 3)), "node 2 to 3", "parent is 1")
    fired("DDB141", trace(accepted=(1, 3)), "not at the root")
    fired("DDB141", trace(depths=(0, 1, 1, 3)), "node 3 of depth 3")


def test_an_accepted_token_that_the_target_did_not_choose_fires(trace, fired, silent):
    silent("DDB142", trace())
    fired("DDB142", trace(target=(11, 99, 40, 50)), "token 13", "chose 99", "1 of 4")
    silent("DDB142", trace(target=(11, None, 40, 50)))


def test_a_walk_that_stops_early_fires(trace, fired, silent):
    silent("DDB143", trace())
    fired("DDB143", trace(accepted=(0, 1), bonus=13, commit=(11, 13)), "child 3", "choice 13")


def test_a_bonus_from_elsewhere_fires(trace, fired, silent):
    silent("DDB144", trace())
    fired("DDB144", trace(bonus=51, target=(11, 13, 40, 51)), "starts from token 50", "bonus 51")
    finding = fired("DDB144", trace(bonus=0))
    assert "2 of 2" in finding.message


@pytest.mark.parametrize(
    ("commit", "words"),
    [
        ((11, 13), "3 drafts"),
        ((11, 50), "2 tokens"),
        ((11, 13, 50, 50), "4 tokens"),
        ((11, 12, 50), "[11, 12, 50] where [11, 13, 50]"),
    ],
)
def test_a_commit_that_is_not_the_path_and_its_bonus_fires(trace, fired, commit, words):
    fired("DDB145", trace(commit=commit), words.replace("3 drafts", "accepted 2 drafts"))


def test_only_the_last_step_may_be_cut(trace, silent, fired):
    silent("DDB145", trace(commit=(11,), finished=True))
    fired("DDB145", trace(commit=(), finished=True), "0 tokens")
    fired("DDB145", trace(commit=(13,), finished=True), "1 tokens")


def test_a_prefix_that_advances_by_anything_but_the_commit_fires(trace, fired, silent):
    silent("DDB146", trace())
    fired("DDB146", trace(prefix_len=17), "from 17 to 19")
    fired("DDB146", trace(prefix_len=15), "from 15 to 19")


@pytest.mark.parametrize("code", ["DDB144", "DDB146"])
def test_a_request_that_is_prefilled_again_between_two_steps_makes_no_jump(trace, silent, code):
    retracted = trace(prefix_len=15, bonus=51, target=(11, 13, 40, 51))

    silent(code, retracted)


def test_a_malformed_tree_fires(trace, fired, silent):
    silent("DDB147", trace())
    fired("DDB147", trace(parents=(-1, 0, 3, 1)), "node 2 with parent 3")
    fired("DDB147", trace(depths=(0, 1, 2, 2)), "node 2 of depth 2")
    fired("DDB147", trace(tokens=(7, 11, 11, 13)), "two children of node 0")
    fired("DDB147", trace(parents=(0, 0, 0, 1)), "root of parent 0")


def test_a_budget_off_by_one_fires(trace, fired, silent):
    silent("DDB148", trace())
    smaller = Speculation("DDTREE", block_size=8, budget=2, topk=2)
    fired("DDB148", replace(trace(), speculation=smaller), "drafts 3 nodes")
    larger = Speculation("DDTREE", block_size=8, budget=4, topk=2)
    fired("DDB148", replace(trace(), speculation=larger), "means 4")
    unfillable = Speculation("DDTREE", block_size=4, budget=9, topk=1)
    silent("DDB148", replace(trace(), speculation=unfillable))


def test_nodes_out_of_order_fire(trace, fired, silent):
    silent("DDB149", trace())
    fired("DDB149", trace(log_weights=(0.0, -0.2, -2.0, -1.8)), "-1.800 at node 3 after -2.000")
    fired("DDB149", trace(parents=(-1, 0, 0, 2), log_weights=(0.0, -0.2, -0.2, 0.1)), "0.100")


def test_a_first_node_that_is_not_the_best_fires(trace, fired, silent):
    silent("DDB150", trace())
    fired("DDB150", trace(log_weights=(0.0, -1.8, -0.2, -2.0)), "-0.200 at node 2")


def test_a_topk_one_tree_that_is_no_chain_fires(step, fired, silent):
    chain = Speculation("DDTREE", block_size=8, budget=3, topk=1)
    good = step(parents=(-1, 0, 1, 2), depths=(0, 1, 2, 3), accepted=(0, 1, 2))
    silent("DDB151", Evidence("t", speculation=chain, steps=(good,)))
    fired("DDB151", Evidence("t", speculation=chain, steps=(step(),)), "[-1, 0, 0, 1]")


def test_weights_of_one_shard_are_not_calibrated(step, fired, silent, skipped):
    def trace_of(requests, weight):
        weights = (0.0, log(weight), log(0.05), log(weight * 0.8))
        steps = tuple(
            step(rid=f"r{i}", log_weights=weights, accepted=(0, 1, 3)[: 1 + (i % 3)])
            for i in range(requests)
        )
        return Evidence("t", steps=steps)

    silent("DDB152", trace_of(30, 0.5))  # 1 accepted of 0.95 expected
    fired("DDB152", trace_of(60, 0.2), "ratio of 2.4")
    skipped("DDB152", trace_of(9, 0.5), "10 requests")


def test_every_answer_stands_in_the_trace(step, answer, tree, fired, silent):
    made = (7, 11, 13, 50, 11, 13, 50)  # the prefill's token, then two steps

    def run(*requests):
        steps = (step(), step(step=1, prefix_len=19), step(rid="warm-up"))
        return Evidence("t", speculation=tree, steps=steps, requests=requests)

    silent("DDB153", run(answer(output_ids=made, verify_ct=2)))
    fired("DDB153", run(answer(output_ids=(*made, 9), verify_ct=2)), "8 tokens that no steps")
    fired("DDB153", run(answer(output_ids=made, verify_ct=3)), "reports 3 steps")
    twice = [answer(name, output_ids=made, verify_ct=2) for name in ("a", "b")]
    fired("DDB153", run(*twice), "1 of 2")


LINE = {
    "rid": "r0",
    "step": 0,
    "prefix_len": 16,
    "root": 7,
    "parents": [-1, 0],
    "tokens": [7, 11],
    "depths": [0, 1],
    "log_weights": [0.0, -0.5],
    "accepted": [0],
    "target": [12, None],
    "bonus": 12,
    "commit": [12],
    "finished": False,
}


def write(path, *lines):
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def test_reads_the_lines_of_a_trace_and_leaves_a_cut_one_out(tmp_path):
    path = write(tmp_path / "trace.jsonl", LINE, {**LINE, "step": 1})
    with path.open("ab") as file:
        file.write(b'{"rid": "r0", "st')

    steps = list(read_step_trace(path))

    assert [step.step for step in steps] == [0, 1]
    assert steps[0].target == (12, None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parents": [-1]}, "lengths"),
        ({"accepted": [0, 2]}, "beyond"),
        ({"accepted": []}, "beyond"),
        ({"step": "first"}, "ValueError"),
        ({"tokens": None}, "TypeError"),
    ],
)
def test_a_line_that_is_no_step_is_an_error_that_names_it(tmp_path, change, words):
    path = write(tmp_path / "trace.jsonl", LINE, {**LINE, **change})

    with pytest.raises(LogFormatError, match=words) as caught:
        list(read_step_trace(path))

    assert "trace.jsonl:2" in str(caught.value)
