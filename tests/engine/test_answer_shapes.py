"""Every answer has the names and types of the captured SGLang 0.5.23 answers.

What is left out on purpose, or added, is listed here by name.
"""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
import requests

from ddbench.load.prompts import read_prompts

CAPTURED = Path(__file__).parent.parent / "fixtures" / "sglang-0.5.23-cpu"

ADDED = {
    # drafts that became output; SGLang counts only before the cut
    "spec_num_committed_drafts": int,
    # what this server is, and which fault is planted in it
    "engine": str,
    "fault": str,
    "speculative_ddtree_budget": int,  # stock SGLang has no draft trees
    "speculative_ddtree_topk": int,
}
LEFT_OUT_OF_MODEL_INFO = {
    # embedding models and the caches of SGLang's own runtime
    "embedding",
}
READ_BY_DDBENCH = {"model_path", "version", "max_running_requests", "internal_states"}


def captured(arm: str, name: str):
    return json.loads((CAPTURED / arm / name).read_text())


def captured_events(arm: str, name: str) -> list:
    lines = (CAPTURED / arm / name).read_text().splitlines()
    data = [json.loads(line)["line"].removeprefix("data: ") for line in lines]
    assert data[-1] == "[DONE]"
    return [json.loads(event) for event in data[:-1]]


def events(response: requests.Response) -> list:
    assert response.headers["Content-Type"].startswith("text/event-stream")
    data = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert data[-1] == "[DONE]"
    return [json.loads(event) for event in data[:-1]]


def differences(ours, theirs, where: str = "") -> list[str]:
    """Where names or types differ. null fits everything; lists are compared by first items."""
    if ours is None or theirs is None:
        return []
    if type(ours) is not type(theirs):
        return [f"{where}: {type(ours).__name__}, SGLang has {type(theirs).__name__}"]
    if isinstance(ours, list):
        return differences(ours[0], theirs[0], f"{where}[0]") if ours and theirs else []
    if not isinstance(ours, dict):
        return []
    found = [f"{where}.{name} is missing" for name in theirs.keys() - ours.keys()]
    for name, value in ours.items():
        if name in theirs:
            found += differences(value, theirs[name], f"{where}.{name}")
        elif name not in ADDED or not isinstance(value, ADDED[name] | None):
            found.append(f"{where}.{name} is not SGLang's")
    return found


@pytest.fixture(scope="module", params=["autoregressive", "dflash"])
def arm(request):
    return request.param


@pytest.fixture(scope="module")
def url(arm, autoregressive, linear):
    return (autoregressive if arm == "autoregressive" else linear).url


GREEDY = {"temperature": 0, "max_new_tokens": 24, "ignore_eos": True}


def test_generate(arm, url):
    body = {"text": "def add(a, b):", "sampling_params": GREEDY}

    answer = requests.post(f"{url}/generate", json=body, timeout=30).json()

    assert differences(answer, captured(arm, "generate.json")) == []
    assert list(captured(arm, "generate.json")["meta_info"]) == [
        name for name in answer["meta_info"] if name not in ADDED
    ]


def test_generate_with_logprobs(arm, url):
    body = {"text": "def add(a, b):", "sampling_params": GREEDY, "return_logprob": True}

    answer = requests.post(f"{url}/generate", json=body, timeout=30).json()

    theirs = captured(arm, "generate-logprob.json")
    assert differences(answer, theirs) == []
    meta = answer["meta_info"]
    assert [entry[1] for entry in meta["output_token_logprobs"]] == answer["output_ids"]
    assert all(value <= 0 and text is None for value, _, text in meta["output_token_logprobs"])
    assert meta["output_token_logprobs_length"] == meta["completion_tokens"] == 24


def test_generate_with_top_logprobs(url):
    body = {
        "text": "def add(a, b):",
        "sampling_params": GREEDY,
        "return_logprob": True,
        "top_logprobs_num": 3,
    }

    meta = requests.post(f"{url}/generate", json=body, timeout=30).json()["meta_info"]

    assert len(meta["output_top_logprobs"]) == 24
    for chosen, best in zip(
        meta["output_token_logprobs"], meta["output_top_logprobs"], strict=True
    ):
        assert len(best) == 3
        assert best[0] == pytest.approx(chosen)  # greedy: the chosen one is the best


def test_generate_streamed(arm, url):
    body = {"text": "def add(a, b):", "sampling_params": GREEDY, "stream": True}

    chunks = events(requests.post(f"{url}/generate", json=body, timeout=30))

    theirs = captured_events(arm, "generate-stream.jsonl")
    assert differences(chunks[0], theirs[0]) == []
    assert differences(chunks[1], theirs[1]) == []
    assert differences(chunks[-1], theirs[-1]) == []
    for earlier, later in pairwise(chunks):
        assert later["output_ids"][: len(earlier["output_ids"])] == earlier["output_ids"]
        assert later["text"].startswith(earlier["text"])
    for chunk in chunks:
        assert len(chunk["output_ids"]) == chunk["meta_info"]["completion_tokens"]
    assert not [name for name in chunks[-2]["meta_info"] if name.startswith("spec_")]


def test_a_stream_ends_with_the_answer_that_is_not_streamed(url):
    body = {"text": "def add(a, b):", "sampling_params": GREEDY}

    whole = requests.post(f"{url}/generate", json=body, timeout=30).json()
    streamed = events(requests.post(f"{url}/generate", json={**body, "stream": True}, timeout=30))

    assert (streamed[-1]["text"], streamed[-1]["output_ids"]) == (
        whole["text"],
        whole["output_ids"],
    )


@pytest.mark.parametrize("kind", ["a token", "a string"])
def test_a_stop_is_left_out_of_the_text_unless_asked_for(kind, url):
    def write(**sampling) -> dict:
        sampling = {**GREEDY, "ignore_eos": False, **sampling}
        body = {"text": prompt.text, "sampling_params": sampling}
        return requests.post(f"{url}/generate", json=body, timeout=30).json()

    (prompt,) = read_prompts("builtin:code", 1)
    full = write()
    middle = len(full["text"]) // 2
    stop = full["text"][middle : middle + 2] if kind == "a string" else full["output_ids"][6]
    name = "stop" if kind == "a string" else "stop_token_ids"

    trimmed = write(**{name: [stop]})
    kept = write(**{name: [stop]}, no_stop_trim=True)

    assert trimmed["meta_info"]["finish_reason"] == {"type": "stop", "matched": stop}
    assert trimmed["output_ids"] == kept["output_ids"]
    assert len(trimmed["output_ids"]) < len(full["output_ids"])
    assert full["text"].startswith(kept["text"])
    assert kept["text"].startswith(trimmed["text"])
    assert len(trimmed["text"]) < len(kept["text"])


def test_a_batch_is_answered_in_its_order(url):
    texts = ["def add(a, b):", "import os", "1 + 1 ="]
    body = {"text": texts, "sampling_params": GREEDY}

    batch = requests.post(f"{url}/generate", json=body, timeout=30).json()
    singles = [
        requests.post(f"{url}/generate", json={**body, "text": text}, timeout=30).json()
        for text in texts
    ]

    assert [a["output_ids"] for a in batch] == [a["output_ids"] for a in singles]


def test_a_streamed_batch_says_whose_chunk_it_is(url):
    body = {"text": ["def add(a, b):", "import os"], "sampling_params": GREEDY, "stream": True}

    chunks = events(requests.post(f"{url}/generate", json=body, timeout=30))

    ends = {chunk["index"] for chunk in chunks if chunk["meta_info"]["finish_reason"]}
    assert ends == {0, 1}


def test_one_token_has_no_drafting_numbers(url):
    body = {"text": "def add(a, b):", "sampling_params": {**GREEDY, "max_new_tokens": 1}}

    meta = requests.post(f"{url}/generate", json=body, timeout=30).json()["meta_info"]

    assert meta["completion_tokens"] == 1
    assert not [name for name in meta if name.startswith("spec_")]


CHAT = {
    "model": "x",
    "messages": [{"role": "user", "content": "def add(a, b):"}],
    "temperature": 0,
    "max_tokens": 16,
}


def test_chat(arm, url):
    answer = requests.post(f"{url}/v1/chat/completions", json=CHAT, timeout=30).json()

    assert differences(answer, captured(arm, "chat.json")) == []
    assert answer["model"] == "x"


def test_chat_streamed(arm, url):
    body = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}

    chunks = events(requests.post(f"{url}/v1/chat/completions", json=body, timeout=30))
    whole = requests.post(f"{url}/v1/chat/completions", json=CHAT, timeout=30).json()

    theirs = captured_events(arm, "chat-stream.jsonl")
    for place in (0, 1, -2, -1):
        assert differences(chunks[place], theirs[place]) == []
    text = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks[:-1])
    assert text == whole["choices"][0]["message"]["content"]
    assert chunks[-1]["usage"] == whole["usage"]


def test_completions(url):
    body = {"model": "x", "prompt": "def add(a, b):", "temperature": 0, "max_tokens": 24}

    answer = requests.post(f"{url}/v1/completions", json=body, timeout=30).json()
    chunks = events(
        requests.post(f"{url}/v1/completions", json={**body, "stream": True}, timeout=30)
    )
    native = requests.post(
        f"{url}/generate",
        json={"text": body["prompt"], "sampling_params": {**GREEDY, "ignore_eos": False}},
        timeout=30,
    ).json()

    choice = answer["choices"][0]
    assert choice["text"] == native["text"]
    assert "".join(c["choices"][0]["text"] for c in chunks) == native["text"]
    assert chunks[-1]["choices"][0]["finish_reason"] == choice["finish_reason"]
    assert answer["usage"]["completion_tokens"] == native["meta_info"]["completion_tokens"]


def test_model_info(arm, url):
    theirs = captured(arm, "model_info.json")
    for name in LEFT_OUT_OF_MODEL_INFO:
        del theirs[name]

    for route in ("model_info", "get_model_info"):
        assert differences(requests.get(f"{url}/{route}", timeout=30).json(), theirs) == []


def test_server_info_has_sglangs_names_for_what_it_has(arm, url):
    theirs = captured(arm, "server_info.json")
    (state,) = theirs["internal_states"]
    theirs["internal_states"] = [{**theirs, **state}]  # it repeats the arguments; trimmed there

    for route in ("server_info", "get_server_info"):
        ours = requests.get(f"{url}/{route}", timeout=30).json()

        assert ours.keys() >= READ_BY_DDBENCH
        assert [d for d in differences(ours, theirs) if "missing" not in d] == []
        assert "embedded" in ours["version"]
        assert ours["engine"] == "embedded demo model, CPU"


def test_models(url):
    answer = requests.get(f"{url}/v1/models", timeout=30).json()

    assert [card["id"] for card in answer["data"]] == ["builtin"]


def test_metrics_have_sglangs_names_labels_and_kinds(arm, url):
    requests.post(
        f"{url}/generate", json={"text": "def add", "sampling_params": GREEDY}, timeout=30
    )

    ours = requests.get(f"{url}/metrics", timeout=30).text
    theirs = (CAPTURED / arm / "metrics.txt").read_text()

    def series(text: str) -> set[tuple[str, tuple[str, ...]]]:
        found = re.findall(r"^(sglang:\w+)\{(.*)\} ", text, re.MULTILINE)
        return {(name, tuple(sorted(re.findall(r"(\w+)=", labels)))) for name, labels in found}

    def kinds(text: str) -> set[str]:
        return set(re.findall(r"^# TYPE (sglang:.*)$", text, re.MULTILINE))

    without_pid = {
        (name, tuple(label for label in labels if label != "pid"))
        for name, labels in series(theirs)
    }
    assert series(ours) - without_pid == set()
    assert kinds(ours) - kinds(theirs) - {"sglang:num_aborted_requests_total counter"} == set()
