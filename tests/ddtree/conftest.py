"""The DDTREE series for SGLang 0.5.23: its own modules, and a real SGLang where there is one."""

import os
import types
from collections.abc import Callable
from functools import cache

import pytest

from ddbench.patching.series import series_for
from ddbench.patching.unified_diff import applied

VERSION = "0.5.23"


@cache
def source_of(path: str) -> str:
    """A file that the series creates, as it is after the last patch."""
    content: dict[str, bytes | None] = {path: None}
    for patch, changes in series_for("ddtree", VERSION).changes.items():
        content |= applied(content, tuple(c for c in changes if c.path == path), patch)
    created = content[path]
    assert created is not None
    return created.decode()


@pytest.fixture(scope="session")
def created_source() -> Callable[[str], str]:
    return source_of


@pytest.fixture(scope="session")
def created_module() -> Callable[[str], types.ModuleType]:
    """Import such a file where SGLang is not installed; it may import only torch at its top."""

    def load(path: str) -> types.ModuleType:
        module = types.ModuleType(path.removesuffix(".py").replace("/", "."))
        exec(compile(source_of(path), path, "exec"), module.__dict__)
        return module

    return load


@pytest.fixture(scope="session")
def sglang_python() -> str:
    python = os.environ.get("DDBENCH_SGLANG_PYTHON")
    if not python:
        pytest.skip("$DDBENCH_SGLANG_PYTHON is not set: no real SGLang to test with")
    return python
