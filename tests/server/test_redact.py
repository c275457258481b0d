"""What must never be stored, and what only looks like it."""

import pytest

from ddbench.server.redact import (
    REDACTED,
    redact,
    redact_argv,
    redact_log,
    redact_mapping,
    secret_values,
)

# Made up, in pieces, so that no scanner takes this file for a leak.
HF = "hf" + "_" + "A" * 34
SK = "sk" + "-" + "b1" * 20
AWS = "AKIA" + "ABCDEFGH12345678"
JWT = "ey" + "J" + "hbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    "line",
    [
        f"using token {HF} to download",
        f"OPENAI {SK}",
        f"{AWS} signed the request",
        f"cookie {JWT}",
        "Authorization: Bearer abcdefgh12345678",
        "GET http://user:hunter22@proxy:3128/",
        "server_args={'api_key': 'topsecret', 'port': 1}",
        "ServerArgs(api_key='topsecret', admin_api_key='other-secret')",
        '{"api_key": "topsecret"}',
        "--api-key topsecret --port 1",
        "--admin-api-key=topsecret",
        "HF_TOKEN=topsecret",
        "password: hunter22",
    ],
)
def test_hides(line):
    shown = redact(line)

    assert REDACTED in shown
    for secret in ("topsecret", "other-secret", "hunter22", "abcdefgh1234", HF, SK, AWS, JWT):
        assert secret not in shown


@pytest.mark.parametrize(
    "line",
    [
        "server_args={'api_key': None, 'max_total_tokens': 8192}",
        '{"api_key": null, "tokenizer_path": "m/target"}',
        "Decode batch, #running-req: 4, #token: 7424, token usage: 0.02",
        "max_new_tokens=64 num_draft_tokens=8 mask_token=<mask>",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "password: None",
    ],
)
def test_leaves_alone(line):
    assert redact(line) == line


def test_a_value_known_to_be_secret_is_hidden_wherever_it_stands():
    secrets = secret_values({"MY_API_KEY": "plainwords", "HF_TOKEN": "short", "PATH": "/usr/bin"})

    assert secrets == ("plainwords",)
    assert redact("it says plainwords!", secrets) == f"it says {REDACTED}!"


def test_the_values_of_secret_flags_are_hidden():
    argv = (
        "python",
        "--api-key",
        "a",
        "--port",
        "1",
        "--admin-api-key=b",
        "--max-total-tokens",
        "8",
    )

    assert redact_argv(argv) == (
        "python",
        "--api-key",
        REDACTED,
        "--port",
        "1",
        f"--admin-api-key={REDACTED}",
        "--max-total-tokens",
        "8",
    )


def test_secret_names_lose_their_values():
    values = {"HF_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "y", "SGLANG_LOG_MS": "1", "HF_KEY": ""}

    assert redact_mapping(values) == {
        "HF_TOKEN": REDACTED,
        "AWS_SECRET_ACCESS_KEY": REDACTED,
        "SGLANG_LOG_MS": "1",
        "HF_KEY": "",
    }


def test_a_log_keeps_its_length_and_every_offset(tmp_path):
    log = tmp_path / "server.log"
    before = f"start \xff\nserver_args={{'api_key': 'topsecret'}}\n{HF} and words\nDecode batch\n"
    log.write_bytes(before.encode("latin-1"))

    redact_log(log, ["words"])

    after = log.read_bytes().decode("latin-1")
    assert len(after) == len(before)
    assert after.index("Decode batch") == before.index("Decode batch")
    assert after.splitlines()[1] == "server_args={'api_key': '*********'}"
    assert after.splitlines()[2] == "*" * len(HF) + " and *****"
