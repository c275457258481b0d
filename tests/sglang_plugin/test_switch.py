"""ddbench beside a production SGLang: nothing happens until its own variable is set."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ddbench.sglang_plugin as plugin

# Resolves SGLang's platform and loads its plug-ins as every SGLang process does, then reports.
REPORT = """
import hashlib, json, os
import torch
from sglang.srt.plugins import load_plugins
from sglang.srt.plugins.hook_registry import HookRegistry
from sglang.srt.layers.attention import attention_registry
import sglang.srt.arg_groups.choices as choices

before = {"record_stream": torch.Tensor.record_stream}  # hooks also replace module globals
load_plugins()
from sglang.srt.platforms import current_platform
print("REPORT " + json.dumps({
    "platform": type(current_platform).__name__,
    "hooks": sorted(HookRegistry._hooks),
    "record_stream_is_torchs": torch.Tensor.record_stream is before['record_stream'],
    "attention": attention_registry.ATTENTION_BACKENDS["torch_native"].__module__,
    "draft_backends": choices.DRAFT_ATTENTION_BACKEND_CHOICES,
}))
"""


def report(python: str, *, without_ddbench: bool = False, **env: str) -> dict[str, object]:
    """What SGLang has become in a fresh process of its own interpreter."""
    code = REPORT
    if without_ddbench:
        code = (
            "import importlib.metadata as m\n"
            "found = m.entry_points\n"
            "m.entry_points = lambda **k: m.EntryPoints("
            "e for e in found(**k) if not e.value.startswith('ddbench')) if k else found()\n"
            + REPORT
        )
    done = subprocess.run(
        [python, "-c", code],
        env={**os.environ, "DDBENCH_SGLANG_CPU": "", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
    assert lines, done.stderr[-2000:]
    answer: dict[str, object] = json.loads(lines[0].removeprefix("REPORT "))
    return answer


def test_the_entry_points_do_nothing_while_the_variable_is_unset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is no SGLang here, so any step beyond the switch would raise."""
    monkeypatch.delenv(plugin.SWITCH, raising=False)

    assert plugin.activate_platform() is None
    plugin.load_hooks()


def test_the_plug_in_module_needs_neither_torch_nor_sglang() -> None:
    code = "import sys, ddbench.sglang_plugin; print(sorted({'torch', 'numpy'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_another_sglang_version_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").touch()
    (tmp_path / "sglang" / "version.py").write_text("__version__ = '0.5.99'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(plugin.SWITCH, "1")
    for name in ("sglang", "sglang.version"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    with pytest.raises(plugin.SglangVersionUnsupported, match=r"this is SGLang 0\.5\.99") as caught:
        plugin.activate_platform()

    assert "sglang==0.5.23" in caught.value.remedy
    assert caught.value.__notes__ == [caught.value.remedy]  # SGLang prints the traceback
    for name in ("sglang", "sglang.version"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_the_older_version_has_a_platform_of_its_own_and_records_no_drafts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").touch()
    (tmp_path / "sglang" / "version.py").write_text("__version__ = '0.5.11'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(plugin.SWITCH, "1")
    monkeypatch.setenv(plugin.RECORD_VARIABLE, str(tmp_path / "drafts"))
    for name in ("sglang", "sglang.version"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    assert plugin.activate_platform() == "ddbench.sglang_plugin.v0_5_11_platform:DdbenchCpuPlatform"
    with pytest.raises(plugin.SglangVersionUnsupported, match=r"this is SGLang 0\.5\.11"):
        plugin.load_hooks()

    for name in ("sglang", "sglang.version"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.sglang
def test_beside_a_production_sglang_nothing_changes(sglang_python: str) -> None:
    """Compared with the same process when ddbench's entry points are hidden from it."""
    beside = report(sglang_python)

    assert beside == report(sglang_python, without_ddbench=True)
    assert beside["platform"] != "DdbenchCpuPlatform"
    assert not any("ddbench" in str(value) for value in beside.values())


@pytest.mark.sglang
def test_the_variable_switches_platform_hooks_and_attention_on(sglang_python: str) -> None:
    changed = report(
        sglang_python,
        DDBENCH_SGLANG_CPU="1",
        SGLANG_PLATFORM=plugin.PLATFORM_NAME,
        SGLANG_USE_CPU_ENGINE="1",
        PYTHONPATH=str(plugin.stand_in_folder()),
    )

    assert changed["platform"] == "DdbenchCpuPlatform"
    assert changed["attention"] == "ddbench.sglang_plugin.hooks"
    assert changed["record_stream_is_torchs"] is False
    assert "torch_native" in str(changed["draft_backends"])
