"""What is asked of /generate."""

import json
from dataclasses import replace
from typing import Any

from ddbench.draft_records import prompt_of
from ddbench.load.generate import generate_body
from ddbench.records import LoadConfig, Prompt

GREEDY = LoadConfig("test", 2, 1, max_new_tokens=64)
PROMPT = Prompt("p1", 'Grüße: "x"\n')


def body(load: LoadConfig, prompt: Prompt = PROMPT) -> dict[str, Any]:
    asked: dict[str, Any] = json.loads(generate_body(prompt, load))
    return asked


def test_a_greedy_request_asks_for_nothing_else() -> None:
    assert body(GREEDY) == {
        "text": PROMPT.text,
        "sampling_params": {"max_new_tokens": 64, "temperature": 0.0, "ignore_eos": False},
        "stream": True,
    }


def test_logprobs_and_ignore_eos_are_asked_for_by_name() -> None:
    asked = body(replace(GREEDY, logprobs=True, ignore_eos=True))

    assert asked["return_logprob"] is True
    assert asked["sampling_params"]["ignore_eos"] is True


def test_every_prompt_samples_from_its_own_seed_in_every_arm() -> None:
    warm = replace(GREEDY, temperature=0.8, seed=5)

    def seed(load: LoadConfig, prompt_id: str) -> int:
        asked: int = body(load, Prompt(prompt_id, "x"))["sampling_params"]["sampling_seed"]
        return asked

    assert seed(warm, "p1") == seed(replace(warm, concurrency=8), "p1")
    assert seed(warm, "p1") != seed(warm, "p2")
    assert seed(warm, "p1") != seed(replace(warm, seed=6), "p1")
    assert 0 <= seed(replace(warm, seed=2**31), "p1") < 2**31


def test_a_recorded_request_has_an_id_of_its_own_that_tells_its_prompt() -> None:
    recording = replace(GREEDY, record_drafts=True)

    first, second = (body(recording, Prompt("p:1", "x"))["rid"] for _ in range(2))

    assert prompt_of(first) == prompt_of(second) == "p:1"
    assert prompt_of("p:1") == "p:1"
    assert not first.startswith(second[:12])
