"""Real SGLang, where $DDBENCH_SGLANG_PYTHON names it, and the stand-in for its kernels."""

import os
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from ddbench.sglang_plugin import SWITCH, stand_in_folder


@pytest.fixture(scope="session")
def sglang_python() -> str:
    python = os.environ.get("DDBENCH_SGLANG_PYTHON")
    if not python:
        pytest.skip("$DDBENCH_SGLANG_PYTHON is not set: no real SGLang to test with")
    return python


@pytest.fixture
def sgl_kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The stand-in, imported as a sweep's server imports it."""
    monkeypatch.setenv(SWITCH, "1")
    monkeypatch.syspath_prepend(str(stand_in_folder()))
    import sgl_kernel

    yield sgl_kernel
    for name in [name for name in sys.modules if name.partition(".")[0] == "sgl_kernel"]:
        del sys.modules[name]
