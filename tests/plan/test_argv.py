"""Command lines. The expected flags are SGLang's, typed from its documentation."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import ddbench
from ddbench.errors import PlanError
from ddbench.plan.argv import server_command
from ddbench.plan.sglang_cpu import has_accelerator, needs_cpu_setup

WEIGHTS = Path(ddbench.__file__).parent / "engine" / "weights"
GPU = "device: cuda"  # no CPU set-up, on any machine


def flags_of(command):
    """Flag -> its values, from a command line."""
    flags, values = {}, []
    for word in command.argv:
        if word.startswith("--"):
            values = flags.setdefault(word, [])
        else:
            values.append(word)
    return flags


@pytest.fixture
def commands(sweep):
    def of(text, **environment):
        return [
            server_command(server, port=30001, environment=environment)
            for server in sweep(text, DDBENCH_SGLANG_PYTHON="/v/bin/python").servers
        ]

    return of


def test_the_embedded_engine_is_told_everything_by_sglang_s_names(commands):
    (command,) = commands("""
        name: x
        server: {flags: {decode-log-interval: 4}}
        arms: [tree: {block_size: 8, budget: [15], topk: [4]}]
    """)

    assert command.argv[:3] == (sys.executable, "-m", "ddbench.engine")
    assert flags_of(command) == {
        "--model-path": [str(WEIGHTS / "target")],
        "--host": ["127.0.0.1"],
        "--port": ["30001"],
        "--max-running-requests": ["8"],
        "--enable-metrics": [],
        "--speculative-algorithm": ["DDTREE"],
        "--speculative-draft-model-path": [str(WEIGHTS / "drafter")],
        "--speculative-dflash-block-size": ["8"],
        "--speculative-ddtree-budget": ["15"],
        "--speculative-ddtree-topk": ["4"],
        "--decode-log-interval": ["4"],
    }
    assert command.model_path == str(WEIGHTS / "target")
    assert command.env == {}


def test_an_autoregressive_server_hears_nothing_of_speculation(commands):
    (command,) = commands("name: x\narms: [autoregressive]\n")

    assert not [word for word in command.argv if "speculative" in word]


def test_flags_are_bare_absent_single_or_many(commands):
    (command,) = commands(
        f"name: x\nserver: {{engine: sglang, model: /m, flags: {{{GPU}, disable-radix-cache: true, "
        "enable-metrics: false, cuda-graph-bs: [1, 2, 4], mem-fraction-static: 0.8}}\n"
        "arms: [autoregressive]\n"
    )

    flags = flags_of(command)
    assert command.argv[:3] == ("/v/bin/python", "-m", "sglang.launch_server")
    assert flags["--disable-radix-cache"] == []
    assert flags["--cuda-graph-bs"] == ["1", "2", "4"]
    assert flags["--mem-fraction-static"] == ["0.8"]
    assert "--enable-metrics" not in flags


def test_a_dialect_spells_settings_for_a_patched_server(commands):
    (command,) = commands(f"""
        name: fork
        server: {{engine: sglang, model: /m, draft_model: /d, flags: {{{GPU}}}}}
        arms:
          - fork:
              algorithm: DFLASH
              block_size: 16
              budget: 15
              topk: 4
              env: {{SGLANG_DFLASH_TREE_VERIFY: "1"}}
              dialect:
                budget: {{flag: speculative-num-draft-tokens, counts_root: true}}
                topk: {{env: SGLANG_DDTREE_MAX_TOPK}}
    """)

    flags = flags_of(command)
    assert flags["--speculative-num-draft-tokens"] == ["16"]
    assert flags["--speculative-dflash-block-size"] == ["16"]
    assert "--speculative-ddtree-topk" not in flags
    assert command.env == {"SGLANG_DDTREE_MAX_TOPK": "4", "SGLANG_DFLASH_TREE_VERIFY": "1"}


def test_sglang_on_a_cpu_gets_its_set_up_and_the_file_s_flags_win(commands):
    (command,) = commands(
        "name: x\nserver: {engine: sglang, model: builtin, flags: {device: cpu, dtype: bfloat16}, "
        "env: {HF_HUB_OFFLINE: '0'}}\narms: [autoregressive]\n",
        PYTHONPATH="/mine",
    )

    flags = flags_of(command)
    assert flags["--attention-backend"] == ["torch_native"]
    assert flags["--sampling-backend"] == ["pytorch"]
    assert flags["--dtype"] == ["bfloat16"]
    assert command.argv.count("--device") == 1
    assert command.env["DDBENCH_SGLANG_CPU"] == "1"
    assert command.env["SGLANG_PLATFORM"] == "ddbench_cpu"
    assert command.env["HF_HUB_OFFLINE"] == "0"
    stand_in, rest = command.env["PYTHONPATH"].split(":")
    assert Path(stand_in, "sgl_kernel").is_dir()
    assert rest == "/mine"


def test_sglang_on_a_gpu_is_left_as_it_is(commands):
    (command,) = commands(
        f"name: x\nserver: {{engine: sglang, model: /m, flags: {{{GPU}}}}}\n"
        "arms: [autoregressive]\n"
    )

    assert command.env == {}
    assert "--attention-backend" not in command.argv


def test_the_device_flag_decides_and_without_it_the_machine(sweep, tmp_path):
    (server,) = sweep(
        "name: x\nserver: {engine: sglang, model: /m}\narms: [autoregressive]\n"
    ).servers

    assert needs_cpu_setup(server) is not has_accelerator()
    assert needs_cpu_setup(replace(server, flags=(("device", "cpu"),)))
    assert not needs_cpu_setup(replace(server, flags=(("device", "cuda"),)))
    assert not has_accelerator(tmp_path)
    (tmp_path / "nvidia0").touch()
    assert has_accelerator(tmp_path)


def test_sglang_without_an_interpreter_is_refused_with_the_ways_to_name_one(sweep):
    text = "name: x\nserver: {engine: sglang, model: /m}\narms: [autoregressive]\n"
    (server,) = sweep(text).servers

    with pytest.raises(PlanError) as caught:
        server_command(server, port=1)

    assert "DDBENCH_SGLANG_PYTHON" in caught.value.remedy
    assert "doctor --install-sglang-cpu" in caught.value.remedy


def test_an_attached_server_has_no_command(sweep):
    text = "name: x\nserver: {engine: attach, base_url: 'http://h:1'}\narms: [autoregressive]\n"
    (server,) = sweep(text).servers

    with pytest.raises(PlanError, match="run by someone else"):
        server_command(server, port=1)
