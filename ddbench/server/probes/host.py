"""The machine that ddbench runs on, and ddbench itself."""

import os
import platform
from pathlib import Path

import psutil

from ddbench import __version__
from ddbench.server.probes.probe import NotKnown, Subject


def ddbench_version(_: Subject) -> dict[str, str]:
    return {"ddbench.version": __version__, "ddbench.python": platform.python_version()}


def operating_system(_: Subject) -> dict[str, str]:
    return {"host.platform": platform.platform(), "host.machine": platform.machine()}


def cpu(_: Subject) -> dict[str, str]:
    """cpu.cores_usable is what the scheduler lets us use, which containers make smaller."""
    facts = {
        "cpu.cores": str(psutil.cpu_count(logical=True)),
        "cpu.cores_usable": str(len(os.sched_getaffinity(0))),
        "cpu.model": _cpu_model(),
        "host.memory_bytes": str(psutil.virtual_memory().total),
    }
    return facts


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    raise NotKnown("/proc/cpuinfo names no model")
