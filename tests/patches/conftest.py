"""The files that a series creates, as modules without SGLang; and real SGLang 0.5.11."""

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from ddbench.patching.series import shipped_folder
from ddbench.patching.unified_diff import read_patch

SPECULATIVE = "sglang/srt/speculative"

LoadFile = Callable[[str, str], ModuleType]


def created_files(version: str) -> dict[str, bytes]:
    """Path -> content of every file that the series adds to SGLang."""
    files: dict[str, bytes] = {}
    for patch in sorted((shipped_folder() / f"sglang-{version}").glob("*.patch")):
        for change in read_patch(patch):
            if change.creates or change.path in files:
                after = change.applied_to(files.get(change.path), patch.name)
                assert after is not None
                files[change.path] = after
    return files


@pytest.fixture(scope="session")
def load_file(tmp_path_factory: pytest.TempPathFactory) -> LoadFile:
    """A file of a series that needs no more than torch, imported alone."""
    folder = tmp_path_factory.mktemp("created")

    def load(version: str, name: str) -> ModuleType:
        content = created_files(version).get(f"{SPECULATIVE}/{name}.py")
        assert content is not None, f"the series for {version} has no {name}.py"
        path = folder / f"{name}_{version.replace('.', '_')}.py"
        path.write_bytes(content)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def ddtree_utils(load_file: LoadFile) -> ModuleType:
    return load_file("0.5.11", "ddtree_utils")


@pytest.fixture(scope="session")
def ddtree_tree_0_5_23(load_file: LoadFile) -> ModuleType:
    return load_file("0.5.23", "ddtree_tree")


@pytest.fixture(scope="session")
def ddtree_args(load_file: LoadFile) -> ModuleType:
    return load_file("0.5.11", "ddtree_args")


@pytest.fixture(scope="session")
def ddtree_step(load_file: LoadFile) -> ModuleType:
    return load_file("0.5.11", "ddtree_step")


@pytest.fixture(scope="session")
def python_0_5_11() -> Path:
    python = os.environ.get("DDBENCH_SGLANG_0511_PYTHON")
    if not python:
        pytest.skip("$DDBENCH_SGLANG_0511_PYTHON is not set: no real SGLang 0.5.11 to test with")
    return Path(python)
