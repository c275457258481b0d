"""GPUs by NVIDIA's management library (nvidia-ml-py, optional): names, driver, clocks, limits."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ddbench.server.probes.probe import NotKnown, Subject


def gpus(_: Subject) -> dict[str, str]:
    """gpu.count, gpu.driver, and for each card its name, memory, clocks (MHz) and power limit (W).

    Clocks are the present and the largest ones of the SMs.
    """
    try:
        nvml = import_module("pynvml")
    except ImportError as cause:
        raise NotKnown("nvidia-ml-py is not installed") from cause
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as cause:
        raise NotKnown(f"no NVIDIA driver: {cause}") from cause
    try:
        count = int(nvml.nvmlDeviceGetCount())
        facts = {"gpu.count": str(count), "gpu.driver": _text(nvml.nvmlSystemGetDriverVersion())}
        for index in range(count):
            facts |= _card(nvml, index)
    except nvml.NVMLError as cause:
        raise NotKnown(f"the NVIDIA driver refused: {cause}") from cause
    finally:
        nvml.nvmlShutdown()
    return facts


def _card(nvml: Any, index: int) -> dict[str, str]:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    wanted: dict[str, Callable[[], object]] = {
        "name": lambda: _text(nvml.nvmlDeviceGetName(handle)),
        "memory_bytes": lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total,
        "sm_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "sm_clock_max_mhz": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM),
        "power_limit_w": lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        "power_limit_default_w": lambda: (
            nvml.nvmlDeviceGetPowerManagementDefaultLimit(handle) / 1000
        ),
        "uuid": lambda: _text(nvml.nvmlDeviceGetUUID(handle)),
    }
    facts = {}
    for name, read in wanted.items():
        try:
            facts[f"gpu.{index}.{name}"] = str(read())
        except nvml.NVMLError:  # a card in a virtual machine hides some of them
            continue
    return facts


def _text(said: str | bytes) -> str:
    return said.decode() if isinstance(said, bytes) else said
