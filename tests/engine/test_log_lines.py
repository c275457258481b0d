"""The log has SGLang 0.5.23's lines to the letter, and numbers that are the steps' own."""

import json
import re
import time
from pathlib import Path
from statistics import median

import pytest
import requests

CAPTURED = Path(__file__).parent.parent / "fixtures" / "sglang-0.5.23-cpu"
GREEDY = {"temperature": 0, "max_new_tokens": 21, "ignore_eos": True}


def form(line: str) -> str:
    """A line with its numbers blotted out: 3 -> N, 0.50 -> N.NN."""
    line = re.sub(r"\d+\.(\d+)", lambda number: "N." + "N" * len(number[1]), line)
    return re.sub(r"\d+", "N", line)


def lines(log: str, kind: str) -> list[str]:
    return [line for line in log.splitlines() if kind in line]


def field(line: str, name: str) -> float:
    found = re.search(rf", {re.escape(name)}: ([\d.]+)", line)
    assert found, f"{name} is not in {line}"
    return float(found[1])


def write(url: str, **sampling: object) -> dict:
    body = {"text": "def add(a, b):", "sampling_params": {**GREEDY, **sampling}}
    return requests.post(f"{url}/generate", json=body, timeout=60).json()


@pytest.mark.parametrize("kind", ["Prefill batch", "Decode batch", "HTTP/1.1"])
def test_lines_without_drafting_have_the_captured_form(kind, autoregressive):
    write(autoregressive.url)

    captured = (CAPTURED / "autoregressive" / "server-lines.log").read_text()
    theirs = {form(line) for line in lines(captured, kind) if '"POST /gen' in line or "b" in kind}
    ours = {form(line) for line in lines(autoregressive.log, kind)}
    assert theirs & ours
    if kind != "HTTP/1.1":
        assert theirs == ours


@pytest.mark.parametrize("kind", ["Prefill batch", "Decode batch"])
def test_lines_of_linear_drafting_have_the_captured_form(kind, linear):
    write(linear.url)

    captured = (CAPTURED / "dflash" / "server-lines.log").read_text()
    assert {form(line) for line in lines(linear.log, kind)} == {
        form(line) for line in lines(captured, kind)
    }
    assert "Initialized DFLASH draft runner. attention_backend=torch_native, " in linear.log


def test_lines_of_draft_trees_add_three_fields_after_the_accept_rate(ddtree, linear):
    write(ddtree.url)
    write(linear.url)

    added = ", accepted depth: N.NN, commit len: N.NN, tree nodes: N.NN"
    (ours,) = {form(line) for line in lines(ddtree.log, "Decode batch")}
    (theirs,) = {form(line) for line in lines(linear.log, "Decode batch")}
    assert added in ours
    assert ours.replace(added, "") == theirs
    assert re.search(r"accept rate: N\.NN, accepted depth", ours)
    assert "block_size=8, tree_budget=31, max_tree_nodes=32" in ddtree.log


def test_a_line_a_step_says_what_the_trace_says(ddtree, trace_path):
    """One request alone, interval 1: each decode line is one request-step."""
    before = len(lines(ddtree.log, "Decode batch"))
    answers = [write(ddtree.url, max_new_tokens=length) for length in range(21, 29)]

    rids = [answer["meta_info"]["id"] for answer in answers]
    traced = [json.loads(line) for line in trace_path.read_text().splitlines()]
    steps = [step for rid in rids for step in traced if step["rid"] == rid]
    logged = lines(ddtree.log, "Decode batch")[before:]
    assert len(logged) == len(steps) > 1
    cut = 0
    for line, step in zip(logged, steps, strict=True):
        depth = len(step["accepted"]) - 1
        assert field(line, "accept len") == depth + 1
        assert field(line, "accept rate") == pytest.approx(depth / 31, abs=0.005)
        assert field(line, "accepted depth") == depth
        assert field(line, "commit len") == len(step["commit"])
        assert field(line, "tree nodes") == 31
        assert field(line, "#running-req") == 1
        rows = step["prefix_len"] + depth + 1
        assert field(line, "#token") == (0 if step["finished"] else rows)
        cut += len(step["commit"]) <= depth
    assert cut > 0  # or accept len and commit len were never told apart


def test_a_window_is_the_steps_since_the_line_before(autoregressive):
    """Interval 4: 20 decode steps are 5 lines; a flush in between starts a new window."""
    write(autoregressive.url, max_new_tokens=4)
    requests.post(f"{autoregressive.url}/flush_cache", timeout=30)
    before = len(lines(autoregressive.log, "Decode batch"))

    prompt = write(autoregressive.url)["meta_info"]["prompt_tokens"]

    logged = lines(autoregressive.log, "Decode batch")[before:]
    rows = [field(line, "#token") for line in logged]
    assert rows == [prompt + 4, prompt + 8, prompt + 12, prompt + 16, 0]
    assert all(field(line, "gen throughput (token/s)") > 0 for line in logged)


def test_the_throughput_of_a_line_counts_the_time_since_the_line_before(autoregressive):
    requests.post(f"{autoregressive.url}/flush_cache", timeout=30)
    write(autoregressive.url, max_new_tokens=5)
    time.sleep(1.0)
    before = len(lines(autoregressive.log, "Decode batch"))

    write(autoregressive.url)

    rates = [
        field(line, "gen throughput (token/s)")
        for line in lines(autoregressive.log, "Decode batch")[before:]
    ]
    assert rates[0] <= 4 / 1.0  # four tokens, and a second of idling
    assert median(rates[1:]) > rates[0]


def test_the_lifetime_mean_moves_with_the_lines_and_is_forgotten_at_a_flush(linear):
    def mean() -> float | None:
        info = requests.get(f"{linear.url}/server_info", timeout=30).json()
        return info["internal_states"][0].get("avg_spec_accept_length")

    requests.post(f"{linear.url}/flush_cache", timeout=30)
    forgotten = mean()
    answer = write(linear.url, max_new_tokens=60)

    meta = answer["meta_info"]
    steps, drafts = meta["spec_verify_ct"], meta["spec_num_correct_drafts"]
    assert forgotten is None
    assert mean() == pytest.approx((steps + drafts) / steps)


def test_counters_count_what_the_answers_say(linear):
    def counted(name: str) -> float:
        text = requests.get(f"{linear.url}/metrics", timeout=30).text
        return sum(map(float, re.findall(rf"^sglang:{name}\{{.*\}} (\S+)$", text, re.MULTILINE)))

    names = ("spec_verify_calls_total", "generation_tokens_total", "prompt_tokens_total")
    before = [counted(name) for name in names]
    metas = [write(linear.url, max_new_tokens=n)["meta_info"] for n in (1, 17, 40)]
    requests.get(f"{linear.url}/health_generate", timeout=30)

    grown = [counted(name) - was for name, was in zip(names, before, strict=True)]
    assert grown == [
        sum(meta.get("spec_verify_ct", 0) for meta in metas),
        sum(meta["completion_tokens"] for meta in metas),
        sum(meta["prompt_tokens"] for meta in metas),
    ]
