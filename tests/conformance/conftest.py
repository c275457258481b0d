"""Real SGLang, where $DDBENCH_SGLANG_PYTHON names it."""

import os

import pytest


@pytest.fixture(scope="session")
def sglang_python() -> str:
    python = os.environ.get("DDBENCH_SGLANG_PYTHON")
    if not python:
        pytest.skip("$DDBENCH_SGLANG_PYTHON is not set: no real SGLang to compare with")
    return python
