"""The three ways to have a server: embedded, SGLang on a CPU, SGLang on GPUs."""

import subprocess
from collections.abc import Mapping, Sequence
from importlib import metadata
from importlib.resources import files
from importlib.util import find_spec

from ddbench.server.doctor.capability import Capability
from ddbench.server.doctor.sglang_environment import (
    SGLANG_VERSION,
    SglangEnvironment,
    stand_in_problem,
)

_EMBEDDED_NEEDS = ("torch", "safetensors", "tokenizers", "jinja2")
_INSTALL_CPU = (
    "Run `ddbench doctor --install-sglang-cpu DIR` (about 11 GB), then set "
    "$DDBENCH_SGLANG_PYTHON to DIR/bin/python."
)


def embedded() -> Capability:
    """ddbench's own engine, in ddbench's own interpreter, with the model pair that it ships."""
    absent = [name for name in _EMBEDDED_NEEDS if find_spec(name) is None]
    facts = {name: metadata.version(name) for name in _EMBEDDED_NEEDS if name not in absent}
    missing = tuple(f"the package {name}" for name in absent)
    advice = ("Run `pip install 'ddbench[engine]'` in ddbench's environment.",) if absent else ()
    weights = files("ddbench") / "engine" / "weights"
    for part in ("target", "drafter"):
        if (weights / part / "config.json").is_file():
            facts[f"{part} weights"] = "shipped"
        else:
            missing += (f"the {part}'s weights",)
            advice = (*advice, "Reinstall ddbench: its model pair is part of the package.")
    return _engine("embedded engine", facts, missing, tuple(dict.fromkeys(advice)))


def sglang_cpu(environment: SglangEnvironment | None) -> Capability:
    """Real SGLang without a GPU, through ddbench's plug-in. environment: None for "none named"."""
    name = f"SGLang {SGLANG_VERSION} on a CPU"
    if environment is None:
        return _engine(name, {}, ("$DDBENCH_SGLANG_PYTHON is not set",), (_INSTALL_CPU,))
    facts = _facts(environment)
    if environment.problem is not None or environment.sglang is None:
        return _engine(name, facts, (environment.problem or "the package sglang",), (_INSTALL_CPU,))
    missing: list[str] = []
    advice: list[str] = []
    if environment.sglang != SGLANG_VERSION:
        missing.append(f"sglang {SGLANG_VERSION}; {environment.sglang} is installed")
        advice.append(_INSTALL_CPU)
    elif not environment.has_plug_in:
        missing.append("ddbench inside that environment, where SGLang looks for plug-ins")
        advice.append(f"Run `{environment.python} -m pip install --no-deps ddbench`.")
    elif (problem := stand_in_problem(environment.python)) is not None:
        missing.append(f"a working stand-in for sgl_kernel: {problem}")
        advice.append(_INSTALL_CPU)
    if not environment.is_compiled:
        advice.append(
            f"Run `{environment.python} -m compileall -q` on its site-packages: each server start "
            "is then minutes faster."
        )
    return _engine(name, facts, missing, advice)


def sglang_gpu(environment: SglangEnvironment | None) -> Capability:
    """Real SGLang on NVIDIA GPUs; ddbench needs nothing inside its environment for that."""
    name = "SGLang on GPUs"
    cards = _nvidia_cards()
    facts = {f"gpu {index}": card for index, card in enumerate(cards)}
    missing: list[str] = []
    advice: list[str] = []
    if not cards:
        missing.append("an NVIDIA GPU that `nvidia-smi` can see")
        advice.append("Use a machine with a GPU, or serve on the CPU.")
    if environment is None or environment.sglang is None:
        missing.append("an interpreter with SGLang")
        advice.append(
            "Install sglang in an environment of its own, and name its interpreter in "
            "`python:` of the sweep file or $DDBENCH_SGLANG_PYTHON."
        )
    else:
        facts |= _facts(environment)
    return _engine(name, facts, missing, advice)


def _engine(
    name: str, facts: Mapping[str, str], missing: Sequence[str], advice: Sequence[str]
) -> Capability:
    return Capability(name, facts, tuple(missing), tuple(advice), is_engine=True)


def _facts(environment: SglangEnvironment) -> dict[str, str]:
    said = {
        "interpreter": environment.python,
        "python": environment.python_version,
        "sglang": environment.sglang,
        "torch": environment.torch,
        "ddbench inside": environment.ddbench,
    }
    facts = {name: value for name, value in said.items() if value is not None}
    if environment.sglang is not None:
        facts["byte-compiled"] = "yes" if environment.is_compiled else "no"
    return facts


def _nvidia_cards() -> list[str]:
    """ "name, memory, driver" of each card; none when there is no driver to ask."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return answer.stdout.splitlines() if answer.returncode == 0 else []
