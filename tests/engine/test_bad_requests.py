"""A request that cannot be answered gets status 400, SGLang's form, and a sentence; never a 500."""

import json

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

GENERATE = [
    ({}, "Either text or input_ids"),
    ({"text": "a", "input_ids": [1]}, "not both"),
    ({"text": ""}, "the prompt is empty"),
    ({"text": 3}, "text must be a string"),
    ({"text": []}, "text must be"),
    ({"input_ids": []}, "input_ids must be"),
    ({"input_ids": [[]]}, "the prompt is empty"),
    ({"input_ids": [10**9]}, "outside 0 to"),
    ({"input_ids": [-1]}, "outside 0 to"),
    ({"input_ids": ["a"]}, "input_ids must be"),
    ({"input_ids": [True]}, "input_ids must be"),
    ({"input_ids": [1] * 100_000}, "longer than the model's context length"),
    ({"text": "a", "sampling_params": 3}, "sampling_params must be a JSON object"),
    ({"text": "a", "sampling_params": {"max_new_tokens": 10**6}}, "maximum context length"),
    ({"text": "a", "sampling_params": {"max_new_tokens": 0}}, "at least 1"),
    ({"text": "a", "sampling_params": {"max_new_tokens": 1.5}}, "must be an integer"),
    ({"text": "a", "sampling_params": {"temperature": -1}}, "temperature must be"),
    ({"text": "a", "sampling_params": {"temperature": "hot"}}, "temperature must be"),
    ({"text": "a", "sampling_params": {"top_p": 0.5}}, "top_p is not supported"),
    ({"text": "a", "sampling_params": {"top_k": 5}}, "top_k is not supported"),
    ({"text": "a", "sampling_params": {"json_schema": "{}"}}, "json_schema is not supported"),
    ({"text": "a", "sampling_params": {"stop": [""]}}, "stop must be"),
    ({"text": "a", "sampling_params": {"sampling_seed": 2**63}}, "64-bit"),
    ({"text": "a", "sampling_params": {"temprature": 1}}, "unknown field sampling_params.temp"),
    ({"text": "a", "return_logprob": 3}, "return_logprob must be a boolean"),
    ({"text": "a", "top_logprobs_num": 1000}, "top_logprobs_num must be"),
    ({"text": "a", "logprob_start_len": 0}, "logprob_start_len is not supported"),
    ({"text": "a", "lora_path": "x"}, "lora_path is not supported"),
    ({"text": "a", "stream": "yes"}, "stream must be a boolean"),
    ({"text": ["a", "b"], "rid": ["r", "r"]}, "Duplicate request ID"),
    ({"text": ["a", "b"], "rid": ["r"]}, "rid must be"),
    ([], "must be a JSON object"),
]
CHAT = [
    ({"messages": []}, "messages must be"),
    ({"messages": [{"content": "a"}]}, "role must be a string"),
    ({"messages": [{"role": "user"}]}, "content must be"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "content must be"),
    ({"messages": [{"role": "user", "content": "a"}], "n": 2}, "n is not supported"),
    ({"messages": [{"role": "user", "content": "a"}], "tools": [{}]}, "tools is not supported"),
]


@pytest.mark.parametrize(("body", "sentence"), GENERATE, ids=lambda v: str(v)[:60])
def test_generate_refuses(body, sentence, autoregressive):
    response = requests.post(f"{autoregressive.url}/generate", json=body, timeout=30)

    assert response.status_code == 400
    assert sentence in response.json()["error"]["message"]


@pytest.mark.parametrize(("body", "sentence"), CHAT, ids=lambda v: str(v)[:60])
def test_chat_refuses_in_openais_form(body, sentence, autoregressive):
    response = requests.post(f"{autoregressive.url}/v1/chat/completions", json=body, timeout=30)

    assert response.status_code == 400
    error = response.json()
    assert sentence in error["message"]
    assert (error["object"], error["type"], error["code"]) == ("error", "BadRequestError", 400)


@pytest.mark.parametrize("route", ["/generate", "/v1/completions", "/v1/chat/completions"])
@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"text": NaN}', b"null"])
def test_what_is_not_a_json_object_is_refused(route, body, autoregressive):
    response = requests.post(f"{autoregressive.url}{route}", data=body, timeout=30)

    assert response.status_code == 400


def test_unknown_routes_and_methods_say_so(autoregressive):
    missing = requests.get(f"{autoregressive.url}/get_load", timeout=30)
    wrong = requests.get(f"{autoregressive.url}/generate", timeout=30)

    assert (missing.status_code, missing.json()) == (404, {"detail": "Not Found"})
    assert (wrong.status_code, wrong.json()) == (405, {"detail": "Method Not Allowed"})


NAMES = [
    "text", "input_ids", "sampling_params", "max_new_tokens", "temperature", "stop", "rid", "n",
    "stop_token_ids", "stream", "return_logprob", "top_logprobs_num", "messages", "prompt", "role",
    "content", "max_tokens", "seed", "sampling_seed", "ignore_eos", "stream_options",
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-3, 40) | st.floats(-2, 9) | st.text(max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    route=st.sampled_from(["/generate", "/v1/completions", "/v1/chat/completions"]),
    body=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5),
)
def test_no_body_makes_the_server_fail(route, body, autoregressive):
    data = json.dumps(body).encode()

    response = requests.post(f"{autoregressive.url}{route}", data=data, timeout=30)

    assert response.status_code in (200, 400)
