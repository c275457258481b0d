"""What a sweep file may not say. Each refusal is one sentence that names file, line and key."""

from pathlib import Path

import pytest

from ddbench.errors import PlanError
from ddbench.plan.read import read_sweep

CASES = {
    "unknown key": (
        "name: x\narms: [autoregressive]\nload: {concurency: [1]}\n",
        "demo.yaml line 3, `load.concurency`: unknown key",
        "Did you mean `concurrency`?",
    ),
    "unknown top-level key": (
        "name: x\narms: [autoregressive]\nrepeat: 2\n",
        "demo.yaml line 3, `repeat`: unknown key",
        "Did you mean `repeats`?",
    ),
    "empty list of arms": (
        "name: x\narms: []\n",
        "demo.yaml line 2, `arms`: the list is empty",
        "at least one",
    ),
    "empty list of budgets": (
        "name: x\narms:\n  - tree: {block_size: 8, budget: [], topk: [4]}\n",
        "line 3, `arms[0].tree.budget`: the list is empty",
        "at least one",
    ),
    "empty list of concurrencies": (
        "name: x\narms: [autoregressive]\nload:\n  concurrency: []\n",
        "line 4, `load.concurrency`: the list is empty",
        "at least one",
    ),
    "budget 0": (
        "name: x\narms:\n  - tree: {block_size: 8, budget: [0], topk: [4]}\n",
        "line 3, `arms[0].tree.budget[0]`: 0 is too small",
        "at least 1",
    ),
    "budget that topk cannot fill": (
        "name: x\narms:\n  - tree: {block_size: 8, budget: [8], topk: [1]}\n",
        "line 3, `arms[0].tree`: a tree of topk 1 and block size 8 has no 8 nodes",
        "Lower the budget to 7",
    ),
    "another block size than the drafter's": (
        "name: x\nserver: {draft_model: DRAFTER}\narms:\n  - linear: {block_size: 16}\n",
        "line 4, `arms[0].linear.block_size`: the drafter DRAFTER was trained for block size 8",
        "block_size: 8",
    ),
    "budget without topk": (
        "name: x\narms:\n  - tree: {block_size: 8, budget: [7]}\n",
        "`arms[0].tree`: a tree arm needs `topk`",
        "block_size, budget, topk",
    ),
    "topk on a linear arm": (
        "name: x\narms:\n  - linear: {block_size: 8, topk: 4}\n",
        "`arms[0].linear.topk`: DFLASH has no topk",
        "dialect",
    ),
    "a setting given twice": (
        "name: x\nserver: {flags: {speculative-ddtree-budget: 9}}\n"
        "arms:\n  - tree: {block_size: 8, budget: 7, topk: 4}\n",
        "`budget` and the flag speculative-ddtree-budget say the same thing twice",
        "Remove the flag",
    ),
    "two arms of one name": (
        "name: x\narms:\n  - linear: {block_size: 8}\n"
        "  - linear: {block_size: 8, flags: {page-size: 1}}\n",
        "line 4, `arms[1]`: two arms are named linear-8",
        "a name of its own",
    ),
    "a budget given twice": (
        "name: x\narms:\n  - tree: {block_size: 8, budget: [7, 7], topk: [4]}\n",
        "`arms[0].tree.budget[1]`: 7 stands twice",
        "Remove",
    ),
    "a key given twice": (
        "name: x\narms: [autoregressive]\nname: y\n",
        "line 3, `name`: the key stands twice",
        "Keep one",
    ),
    "fewer prompts than concurrency": (
        "name: x\narms: [autoregressive]\nload: {count: 8, concurrency: [1, 8]}\n",
        "`load.count`: 8 prompts cannot keep 8 requests in flight",
        "above 8",
    ),
    "max-running-requests below concurrency": (
        "name: x\nserver: {flags: {max-running-requests: 4}}\narms: [autoregressive]\n",
        "max-running-requests 4 would queue requests at concurrency 8",
        "at least 8",
    ),
    "text for a number": (
        "name: x\narms: [autoregressive]\nrepeats: two\n",
        "line 3, `repeats`: expected a whole number, found 'two'",
        "whole number",
    ),
    "true for a number": (
        "name: x\narms: [autoregressive]\nload: {count: yes}\n",
        "`load.count`: expected a whole number, found true",
        "whole number",
    ),
    "not a number for a temperature": (
        "name: x\narms: [autoregressive]\nload: {temperature: .nan}\n",
        "`load.temperature`: nan is out of range",
        "at least 0",
    ),
    "arms as keys": (
        "name: x\narms:\n  linear: {block_size: 8}\n",
        "`arms`: expected a list",
        "`- `",
    ),
    "a misspelt kind of arm": (
        "name: x\narms:\n  - liner: {block_size: 8}\n",
        "'liner' is no kind of arm, and has no `algorithm`",
        "Did you mean `linear`?",
    ),
    "an arm without its settings": (
        "name: x\narms: [linear]\n",
        "`arms[0]`: a linear arm needs `block_size`",
        "block_size",
    ),
    "no arms": ("name: x\n", "demo.yaml line 1: `arms` is missing", "Add `arms:`"),
    "a name that is no folder": (
        "name: ../x\narms: [autoregressive]\n",
        "`name`: '../x' cannot name a file or folder",
        "letters",
    ),
    "an unknown engine": (
        "name: x\nserver: {engine: vllm}\narms: [autoregressive]\n",
        "`server.engine`: 'vllm' is not possible here",
        "embedded, sglang, attach",
    ),
    "sglang without a model": (
        "name: x\nserver: {engine: sglang}\narms: [autoregressive]\n",
        "engine: sglang needs a model",
        "builtin",
    ),
    "a drafter that nobody named": (
        "name: x\nserver: {engine: sglang, model: /big}\narms:\n  - linear: {block_size: 8}\n",
        "`arms[0].linear`: no drafter for this arm",
        "draft_model",
    ),
    "an algorithm that the embedded engine lacks": (
        "name: x\narms:\n  - ngram: {algorithm: NGRAM}\n",
        "the embedded engine does not draft with NGRAM",
        "engine: sglang",
    ),
    "a port out of range": (
        "name: x\nserver: {port: 70000}\narms: [autoregressive]\n",
        "`server.port`: 70000 is not a port",
        "65535",
    ),
    "attach without an address": (
        "name: x\nserver: {engine: attach}\narms: [autoregressive]\n",
        "engine: attach needs the address",
        "base_url",
    ),
    "attach with flags": (
        "name: x\nserver: {engine: attach, base_url: 'http://h:1', flags: {a: 1}}\n"
        "arms: [autoregressive]\n",
        "`server.flags`: an attached server is run by someone else",
        "Remove it",
    ),
    "attach with flags of an arm": (
        "name: x\nserver: {engine: attach, base_url: 'http://h:1'}\n"
        "arms: [linear: {block_size: 8, flags: {a: 1}}]\n",
        "`arms[0].linear.flags`: an attached server is run by someone else",
        "Remove it",
    ),
    "a name of an arm that is no file": (
        "name: x\narms:\n  - ../a: {algorithm: null}\n",
        "line 3, `arms[0].../a`: '../a' cannot name a file or folder",
        "letters",
    ),
    "attach with two arms": (
        "name: x\nserver: {engine: attach, base_url: 'http://h:1'}\n"
        "arms: [autoregressive, linear: {block_size: 8}]\n",
        "an attached server has one drafting setting",
        "Keep the one",
    ),
    "a flag with its dashes": (
        "name: x\nserver: {flags: {--tp-size: 8}}\narms: [autoregressive]\n",
        "'--tp-size' is not a flag's name",
        "Write `tp-size`",
    ),
    "a flag with underscores": (
        "name: x\nserver: {flags: {tp_size: 8}}\narms: [autoregressive]\n",
        "'tp_size' is not a flag's name",
        "Write `tp-size`",
    ),
    "a flag that ddbench writes": (
        "name: x\nserver: {flags: {model-path: /m}}\narms: [autoregressive]\n",
        "`server.flags.model-path`: ddbench writes this flag itself",
        "server.model",
    ),
    "a flag without a value": (
        "name: x\nserver: {flags: {disable-cuda-graph: }}\narms: [autoregressive]\n",
        "nothing is no value for a flag",
        "true for a bare flag",
    ),
    "an API key": (
        "name: x\nserver: {flags: {api-key: abc}}\narms: [autoregressive]\n",
        "`server.flags.api-key`: a secret does not belong in a sweep file",
        "outside",
    ),
    "a token in a variable": (
        "name: x\nserver: {env: {HF_TOKEN: hf_abc}}\narms: [autoregressive]\n",
        "`server.env.HF_TOKEN`: a secret does not belong in a sweep file",
        "export HF_TOKEN",
    ),
    "a boolean variable": (
        "name: x\nserver: {env: {SGLANG_X: true}}\narms: [autoregressive]\n",
        "`server.env.SGLANG_X`: expected text, found true",
        "quotes",
    ),
    "a syntax error": (
        "name: x\narms: [autoregressive\nload: {}\n",
        "demo.yaml line 3: not YAML",
        "indentation",
    ),
    "a tab": ("name: x\n\tarms: []\n", "demo.yaml line 2: not YAML", "indentation"),
    "a control character": ("name: x\x07\n", "demo.yaml line 1: not YAML", "character"),
    "an empty file": ("# nothing\n", "demo.yaml is empty", "sweeps/"),
    "a list": ("- a\n", "demo.yaml line 1: expected keys with values, found a list", "key: value"),
    "two documents": ("name: x\n---\nname: y\n", "not YAML", "indentation"),
    "a value that contains itself": ("name: &a [*a]\n", "the value contains itself", "alias"),
    "a merge key": ("a: &a {x: 1}\nserver:\n  <<: *a\n", "merge keys", "Write the keys out"),
    "a number as key": ("name: x\n8: y\n", "the key on line 2 is not text", "quotes"),
    "a date": ("name: 2026-01-01\narms: [autoregressive]\n", "kind date has no use", "quotes"),
    "a unit launcher without a unit": (
        "name: x\nserver: {launcher: systemd-unit}\narms: [autoregressive]\n",
        "systemd-unit needs the unit's name",
        "systemd-unit: {name",
    ),
    "a load both open and closed": (
        "name: x\narms: [autoregressive]\nload: {rate: [2], concurrency: [4]}\n",
        "line 3, `load.concurrency`: a load has a `rate` (open loop) or a `concurrency`",
        "Remove one of the two",
    ),
    "a rate of 0": (
        "name: x\narms: [autoregressive]\nload: {rate: [2, 0]}\n",
        "`load.rate[1]`: 0 is out of range",
        "at least 0.001",
    ),
    "a rate twice": (
        "name: x\narms: [autoregressive]\nload: {rate: [2, 2.0]}\n",
        "`load.rate[1]`: 2 stands twice",
        "Remove one",
    ),
    "a closed loop with arrivals": (
        "name: x\narms: [autoregressive]\nload: {arrival: constant}\n",
        "`load.arrival`: a closed loop sends when an answer has come",
        "add a `rate`",
    ),
    "an unknown arrival": (
        "name: x\narms: [autoregressive]\nload: {rate: 2, arrival: uniform}\n",
        "`load.arrival`: 'uniform' is not possible here",
        "poisson, constant, gamma",
    ),
    "burstiness without gamma": (
        "name: x\narms: [autoregressive]\nload: {rate: 2, burstiness: 0.5}\n",
        "`load.burstiness`: poisson arrivals have no burstiness",
        "arrival: gamma",
    ),
    "gamma without burstiness": (
        "name: x\narms: [autoregressive]\nload: {rate: 2, arrival: gamma}\n",
        "`load.arrival`: gamma arrivals need a burstiness",
        "burstiness:",
    ),
    "one request at a rate": (
        "name: x\narms: [autoregressive]\nload: {rate: 2, count: 1}\n",
        "`load.count`: one request has no rate",
        "at least 2",
    ),
    "logprobs on OpenAI's route": (
        "name: x\narms: [autoregressive]\nload: {route: chat, logprobs: true}\n",
        "`load.route`: `logprobs` is read from SGLang's own route",
        "route: generate",
    ),
    "a dialect without a way": (
        "name: x\nserver: {engine: sglang, model: /m, draft_model: /d}\narms:\n"
        "  - fork: {algorithm: DFLASH, block_size: 8, budget: 7, topk: 4, dialect: {budget: {}}}\n",
        "`arms[0].fork.dialect.budget`: expected one of `flag` and `env`",
        "carries the setting",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refuses(case, refusal, tmp_path):
    (tmp_path / "config.json").write_text('{"block_size": 8}')
    text, expected, remedy = (part.replace("DRAFTER", str(tmp_path)) for part in CASES[case])

    message, offered = refusal(text)

    assert expected in message
    assert "demo.yaml" in message
    assert "\n" not in message
    assert remedy in offered


def test_an_api_key_in_the_place_of_its_name_is_not_repeated(refusal):
    message, remedy = refusal("name: x\narms: [autoregressive]\nload: {api_key_env: sk-7a-b}\n")

    assert "`load.api_key_env`: this is no name of a variable" in message
    assert "sk-7a-b" not in message + remedy


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(PlanError, match=r"cannot read .*none\.yaml: No such file"):
        read_sweep(tmp_path / "none.yaml")


def test_a_file_that_is_not_utf_8_is_named(tmp_path):
    path = tmp_path / "latin.yaml"
    path.write_bytes("name: größe\n".encode("latin-1"))

    with pytest.raises(PlanError, match=r"latin\.yaml is not UTF-8 \(byte 8\)"):
        read_sweep(path)


def test_a_drafter_that_cannot_be_read_here_is_not_judged(sweep):
    plan = sweep("""
        name: remote
        server: {engine: sglang, model: org/big, draft_model: org/big-dflash}
        arms: [linear: {block_size: 16}]
    """)

    assert plan.arms[0].name == "linear-16"


def test_the_shipped_drafter_has_block_size_8(refusal):
    weights = Path(__file__).parents[2] / "ddbench" / "engine" / "weights"
    if not (weights / "drafter" / "config.json").exists():
        pytest.skip("the drafter is not trained yet")

    message, _ = refusal("name: x\narms:\n  - linear: {block_size: 16}\n")

    assert "was trained for block size 8" in message
