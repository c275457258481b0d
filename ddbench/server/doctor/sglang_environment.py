"""An interpreter that is said to have SGLang: what is in it, and whether the CPU set-up works."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

SGLANG_VERSION = "0.5.23"
"""The one version that ddbench serves on a CPU (ddbench.sglang_plugin, not to be imported here)."""

QUESTION_TIMEOUT_S = 120.0

# Runs in the environment in question. Finds packages without importing them.
_ASK = """
import importlib.metadata as metadata, importlib.util, json, os, sys
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
spec = importlib.util.find_spec("sglang")
folder = list(spec.submodule_search_locations)[0] if spec else None
source = os.path.join(folder, "srt", "server_args.py") if folder else None
points = metadata.entry_points(group="sglang.srt.platforms")
print(json.dumps({
    "python": sys.version.split()[0],
    "sglang": version("sglang") if spec else None,
    "torch": version("torch"),
    "ddbench": version("ddbench"),
    "plug_in": any(point.name == "ddbench_cpu" for point in points),
    "compiled": bool(source) and os.path.exists(importlib.util.cache_from_source(source)),
}))
"""

_IMPORT_STAND_IN = """
import sgl_kernel, sgl_kernel.speculative
print(sgl_kernel.__file__)
"""


@dataclass(frozen=True, slots=True)
class SglangEnvironment:
    """Versions are None when the package is not there. `problem`: why nothing could be asked."""

    python: str
    problem: str | None = None
    python_version: str | None = None
    sglang: str | None = None
    torch: str | None = None
    ddbench: str | None = None
    has_plug_in: bool = False  # ddbench's entry points are visible to SGLang
    is_compiled: bool = False  # SGLang's own files, at least


def examine_environment(python: str) -> SglangEnvironment:
    """Ask the interpreter; a path that is none gives an answer with a `problem`."""
    answer = _run(python, _ASK)
    if isinstance(answer, str):
        return SglangEnvironment(python, problem=answer)
    said = json.loads(answer.stdout)
    return SglangEnvironment(
        python,
        python_version=said["python"],
        sglang=said["sglang"],
        torch=said["torch"],
        ddbench=said["ddbench"],
        has_plug_in=said["plug_in"],
        is_compiled=said["compiled"],
    )


def stand_in_problem(python: str) -> str | None:
    """Import the stand-in for SGLang's kernels as a CPU server does; None when that works."""
    stand_in = str(files("ddbench") / "sglang_plugin" / "stand_in")
    answer = _run(python, _IMPORT_STAND_IN, {"DDBENCH_SGLANG_CPU": "1", "PYTHONPATH": stand_in})
    if isinstance(answer, str):
        return answer
    found = answer.stdout.strip()
    return None if found.startswith(stand_in) else f"{found} was found instead of ddbench's own"


def _run(
    python: str, code: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str] | str:
    """The finished process, or in words why there is none."""
    try:
        answer = subprocess.run(
            [python, "-c", code],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=QUESTION_TIMEOUT_S,
            check=False,
        )
    except OSError as cause:
        return f"cannot run {python}: {cause.strerror}"
    except subprocess.TimeoutExpired:
        return f"{python} did not answer within {QUESTION_TIMEOUT_S:.0f} s"
    if answer.returncode != 0:
        last_words = answer.stderr.strip().splitlines()[-1:]
        return f"{python} failed: {' '.join(last_words) or f'exit code {answer.returncode}'}"
    return answer
