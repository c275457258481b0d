"""The fingerprint, of servers and packages that stand on disk for the test."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from ddbench.records import ServerConfig, Speculation
from ddbench.server.environment import identify, probe_environment
from ddbench.server.probes import weights
from ddbench.server.redact import REDACTED

CONFIG = ServerConfig(
    engine="embedded",
    model="m",
    draft_model="d",
    speculation=Speculation("DFLASH", block_size=8),
    max_running_requests=8,
)


@pytest.fixture
def pair(tmp_path):
    """Folders of a target and a drafter, with small made-up files."""
    for name in ("target", "drafter"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(name.encode() * 10)
        (folder / "config.json").write_text(json.dumps({"name": name}))
    (tmp_path / "target" / "tokenizer.json").write_text("{}")
    (tmp_path / "target" / "tokenizer_config.json").write_text('{"chat_template": "{{x}}"}')
    return tmp_path


@pytest.fixture
def info(pair):
    return {
        "model_path": str(pair / "target"),
        "tokenizer_path": str(pair / "target"),
        "speculative_draft_model_path": str(pair / "drafter"),
        "version": "0.5.23",
        "max_running_requests": 4,
        "api_key": "topsecret",
        "chat_template": None,
        "internal_states": [{"version": "0.5.23", "memory_usage": {"weight": 1.5}}],
    }


@pytest.fixture
def examine(http_server):
    def probed(info, config=CONFIG, **more):
        url = http_server({("GET", "/server_info"): [(200, json.dumps(info))]})
        return probe_environment(url, config, **more)

    return probed


def test_says_what_was_served_and_where(examine, info):
    facts = examine(info).facts

    assert facts["server.version"] == "0.5.23"
    assert facts["server.max_running_requests"] == "4"
    assert facts["ddbench.python"] == ".".join(map(str, sys.version_info[:3]))
    assert int(facts["cpu.cores"]) >= 1
    assert json.loads(facts["server.internal_state"]) == {"memory_usage": {"weight": 1.5}}
    assert json.loads(facts["server.args"])["max_running_requests"] == 4
    assert facts["torch.version"]


def test_weights_tokenizer_and_template_are_known_by_content(examine, info, pair):
    first = examine(info).facts
    (pair / "drafter" / "model.safetensors").write_bytes(b"trained longer")
    second = examine(info).facts
    (pair / "target" / "tokenizer_config.json").write_text('{"chat_template": "{{y}}"}')
    third = examine(info).facts

    assert first["target.sha256"] == second["target.sha256"]
    assert first["drafter.sha256"] != second["drafter.sha256"]
    assert first["chat_template.sha256"] == second["chat_template.sha256"]
    assert second["chat_template.sha256"] != third["chat_template.sha256"]
    assert second["tokenizer.sha256"] != third["tokenizer.sha256"]
    config = (pair / "target" / "config.json").read_bytes()
    assert first["target.config_sha256"] == hashlib.sha256(config).hexdigest()


def test_huge_weights_are_sampled_and_say_so(examine, info, monkeypatch):
    monkeypatch.setattr(weights, "HASHED_WHOLE_BYTES", 10)

    facts = examine(info).facts

    assert "target.sha256" not in facts
    assert len(facts["target.sampled_sha256"]) == 64


def test_an_autoregressive_server_has_no_drafter_and_misses_none(examine, info):
    environment = examine(info, replace(CONFIG, speculation=Speculation(), draft_model=None))

    assert "drafter" not in environment.unknown
    assert "drafter.sha256" not in environment.facts


def test_each_probe_fails_alone(examine, info, pair):
    (pair / "target" / "model.safetensors").unlink()
    del info["version"]

    environment = examine(info)

    assert environment.unknown["target"] == f"{pair / 'target'} holds no weight file"
    assert environment.unknown["server version"] == "/server_info has no version"
    assert "drafter.sha256" in environment.facts


def test_a_server_that_never_answered_still_has_a_machine():
    environment = probe_environment(None, CONFIG)

    assert environment.facts["host.platform"]
    assert environment.unknown["server version"] == "the server did not answer /server_info"


def test_a_server_that_is_gone_is_a_reason_and_no_error(port):
    environment = probe_environment(f"http://127.0.0.1:{port}", CONFIG)

    assert "no answer" in environment.unknown["server"]


def test_no_secret_is_in_it(examine, info, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "a-secret-token")
    monkeypatch.setenv("SGLANG_NOTE", "a-secret-token inside")
    info["watermark_config"] = {"signing_key": "topsecret"}

    environment = examine(info)

    stored = json.dumps([dict(environment.facts), dict(environment.unknown)])
    assert "topsecret" not in stored
    assert "a-secret-token" not in stored
    assert environment.facts["env.HF_TOKEN"] == REDACTED


def test_variables_are_those_of_the_server(examine, info, monkeypatch):
    monkeypatch.setenv("SGLANG_OURS", "1")
    monkeypatch.setenv("UNRELATED", "1")
    config = replace(CONFIG, env=(("SGLANG_FILE", "2"),))

    of_file = examine(info, config).facts
    of_command = examine(info, config, env={"SGLANG_COMMAND": "3"}).facts

    assert (of_file["env.SGLANG_OURS"], of_file["env.SGLANG_FILE"]) == ("1", "2")
    assert of_command["env.SGLANG_COMMAND"] == "3"
    assert "env.UNRELATED" not in of_file


@pytest.fixture
def sglang_checkout(tmp_path, monkeypatch):
    """A git repository with a package named sglang, on the server's PYTHONPATH."""
    for name, value in {
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@example.invalid",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@example.invalid",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }.items():
        monkeypatch.setenv(name, value)
    package = tmp_path / "checkout" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('must not be imported')\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *command], cwd=package.parent, check=True)
    return package


def sglang_config(package):
    return replace(
        CONFIG,
        engine="sglang",
        python=sys.executable,
        env=(("PYTHONPATH", str(package.parent)),),
    )


def test_a_checkout_is_known_by_its_commit_and_its_changes(examine, info, sglang_checkout):
    config = sglang_config(sglang_checkout)
    clean = examine(info, config).facts
    (sglang_checkout / "__init__.py").write_text("changed = True\n")

    dirty = examine(info, config).facts

    assert len(clean["sglang.git_commit"]) == 40
    assert clean["sglang.git_dirty_sha256"] == "clean"
    assert dirty["sglang.git_commit"] == clean["sglang.git_commit"]
    assert len(dirty["sglang.git_dirty_sha256"]) == 64


def test_a_package_is_known_by_its_files(examine, info, tmp_path):
    hashes = set()
    for number in range(2):
        package = tmp_path / f"copy-{number}" / "sglang"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"version = {number}\n")
        hashes.add(examine(info, sglang_config(package)).facts["sglang.package_sha256"])

    assert len(hashes) == 2


def test_a_package_inside_another_repository_has_no_commit(examine, info, sglang_checkout):
    """A venv in a repository's folder, ignored by it, is not that repository's commit."""
    inner = sglang_checkout.parent / "venv" / "sglang"
    inner.mkdir(parents=True)
    (inner / "__init__.py").touch()

    environment = examine(info, sglang_config(inner))

    assert "sglang.git_commit" not in environment.facts
    assert "git checkout" not in environment.unknown


def test_an_interpreter_without_sglang_is_a_reason(examine, info):
    config = replace(CONFIG, engine="sglang", python="/no/such/python")

    assert "No such file" in examine(info, config).unknown["packages"]


NVML = """
NVML_CLOCK_SM = 1
class NVMLError(Exception): pass
class Memory: total = 85_899_345_920
def nvmlInit(): pass
def nvmlShutdown(): pass
def nvmlDeviceGetCount(): return 2
def nvmlSystemGetDriverVersion(): return b"550.54"
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetName(handle): return "NVIDIA H100"
def nvmlDeviceGetUUID(handle): return f"GPU-{handle}"
def nvmlDeviceGetMemoryInfo(handle): return Memory
def nvmlDeviceGetClockInfo(handle, clock): return 1410
def nvmlDeviceGetMaxClockInfo(handle, clock): return 1980
def nvmlDeviceGetEnforcedPowerLimit(handle): return 700_000
def nvmlDeviceGetPowerManagementDefaultLimit(handle): raise NVMLError("not supported")
"""


@pytest.fixture
def nvml(tmp_path, monkeypatch):
    """Stands in for NVIDIA's library, which works only beside its driver."""
    (tmp_path / "pynvml.py").write_text(NVML)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    yield
    sys.modules.pop("pynvml", None)


@pytest.mark.usefixtures("nvml")
def test_each_gpu_is_described_as_far_as_its_driver_says():
    facts = probe_environment(None, CONFIG).facts

    assert (facts["gpu.count"], facts["gpu.driver"]) == ("2", "550.54")
    assert facts["gpu.1.name"] == "NVIDIA H100"
    assert facts["gpu.1.uuid"] == "GPU-1"
    assert facts["gpu.0.sm_clock_mhz"] == "1410"
    assert facts["gpu.0.power_limit_w"] == "700.0"
    assert "gpu.0.power_limit_default_w" not in facts


@pytest.mark.usefixtures("nvml")
def test_what_a_key_takes_of_a_gpu_is_the_same_on_the_next_day_and_on_its_twin():
    identity = identify(CONFIG, None)

    assert identity["gpu.0.name"] == "NVIDIA H100"
    assert "gpu.0.sm_clock_mhz" not in identity
    assert "gpu.0.uuid" not in identity
    assert identity["gpu.0.sm_clock_max_mhz"] == "1980"
