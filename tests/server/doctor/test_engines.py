"""What the doctor says of interpreters: real ones, with real packages in them or none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddbench.server.doctor.engines import embedded, sglang_cpu, sglang_gpu
from ddbench.server.doctor.sglang_environment import (
    SGLANG_VERSION,
    examine_environment,
    stand_in_problem,
)
from ddbench.sglang_plugin import SUPPORTED_VERSION


def python_with(folder: Path, packages: dict[str, str]) -> str:
    """An interpreter with exactly these distributions, versions as given; no real code in them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site_packages = next(folder.glob("lib/python*/site-packages"))
    for name, version in packages.items():
        (site_packages / name).mkdir()
        (site_packages / name / "__init__.py").touch()
        info = site_packages / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        if name == "ddbench":
            (info / "entry_points.txt").write_text(
                "[sglang.srt.platforms]\nddbench_cpu = ddbench.sglang_plugin:activate_platform\n"
            )
    return str(folder / "bin" / "python")


def test_both_sides_mean_the_same_sglang() -> None:
    """The doctor may not import the plug-in, so each names the version."""
    assert SGLANG_VERSION == SUPPORTED_VERSION


def test_without_an_interpreter_the_doctor_says_how_to_get_one() -> None:
    found = sglang_cpu(None)

    assert not found.is_ready
    assert "--install-sglang-cpu" in found.advice[0]


def test_an_interpreter_that_cannot_run_is_named(tmp_path: Path) -> None:
    found = sglang_cpu(examine_environment(str(tmp_path / "no-python")))

    assert str(tmp_path / "no-python") in found.missing[0]


def test_an_environment_without_sglang_lacks_it(tmp_path: Path) -> None:
    found = sglang_cpu(examine_environment(python_with(tmp_path / "venv", {})))

    assert found.missing == ("the package sglang",)


def test_another_version_of_sglang_is_not_ready_on_a_cpu(tmp_path: Path) -> None:
    python = python_with(tmp_path / "venv", {"sglang": "0.5.11"})

    found = sglang_cpu(examine_environment(python))

    assert found.missing == ("sglang 0.5.23; 0.5.11 is installed",)
    assert found.facts["sglang"] == "0.5.11"


def test_sglang_without_ddbench_inside_is_told_how_to_add_it(tmp_path: Path) -> None:
    python = python_with(tmp_path / "venv", {"sglang": SGLANG_VERSION})

    found = sglang_cpu(examine_environment(python))

    assert "ddbench inside" in found.missing[0]
    assert found.advice[0] == f"Run `{python} -m pip install --no-deps ddbench`."


def test_a_stand_in_that_cannot_be_imported_is_a_problem(tmp_path: Path) -> None:
    """There is no torch in that environment, and the stand-in needs it."""
    python = python_with(tmp_path / "venv", {"sglang": SGLANG_VERSION, "ddbench": "0.1.0"})

    found = sglang_cpu(examine_environment(python))

    assert "No module named 'torch'" in found.missing[0]


def test_the_stand_in_works_where_torch_is() -> None:
    assert stand_in_problem(sys.executable) is None


def test_no_gpu_is_said_to_be_missing_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no nvidia-smi

    found = sglang_gpu(None)

    assert len(found.missing) == 2
    assert "nvidia-smi" in found.missing[0]


def test_cards_are_listed_as_the_driver_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'NVIDIA X, 81559 MiB, 580.1'\necho 'NVIDIA Y, 1 MiB, 580.1'\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    python = python_with(tmp_path / "venv", {"sglang": "0.5.11"})

    found = sglang_gpu(examine_environment(python))

    assert found.is_ready
    assert found.facts["gpu 1"] == "NVIDIA Y, 1 MiB, 580.1"


def test_the_embedded_engine_names_its_packages() -> None:
    assert {"torch", "safetensors", "tokenizers"} <= embedded().facts.keys()


@pytest.mark.sglang
@pytest.mark.skipif(
    not os.environ.get("DDBENCH_SGLANG_PYTHON"),
    reason="$DDBENCH_SGLANG_PYTHON is not set: no real SGLang to test with",
)
def test_a_prepared_environment_is_ready() -> None:
    found = sglang_cpu(examine_environment(os.environ["DDBENCH_SGLANG_PYTHON"]))

    assert found.missing == ()
    assert found.facts["byte-compiled"] == "yes"
