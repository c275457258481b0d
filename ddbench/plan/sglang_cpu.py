"""What real SGLang needs on a host without an accelerator: settings, and ddbench's plug-ins.

The plug-ins (ddbench/sglang_plugin) do nothing unless the first variable is set.
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from ddbench.records import Flags, FlagValue, ServerConfig

_DEVICE_FILES = ("nvidia[0-9]*", "kfd", "davinci[0-9]*", "accel/accel[0-9]*")

CPU_FLAGS: dict[str, FlagValue] = {
    "attention-backend": "torch_native",
    "device": "cpu",
    "disable-cuda-graph": True,
    "disable-overlap-schedule": True,
    "dtype": "float32",  # bfloat16 is emulated here, and many times slower
    "max-total-tokens": 8192,
    "mem-fraction-static": 0.3,
    "sampling-backend": "pytorch",
    "skip-server-warmup": True,
}
"""Defaults of the CPU set-up; the sweep file's own flags win."""

_CPU_ENV = {
    "CUDA_VISIBLE_DEVICES": "",  # with a GPU in sight SGLang mixes the two code paths
    "DDBENCH_SGLANG_CPU": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",  # tiny matrices: threads that wait for each other cost more
    "PYTHONDONTWRITEBYTECODE": "",  # else three processes compile SGLang at every start
    "SGLANG_PLATFORM": "ddbench_cpu",
    "SGLANG_USE_CPU_ENGINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def has_accelerator(devices: Path = Path("/dev")) -> bool:
    """True when a GPU or NPU driver has put a device file there."""
    return any(next(devices.glob(pattern), None) is not None for pattern in _DEVICE_FILES)


def needs_cpu_setup(config: ServerConfig) -> bool:
    """The sweep file's `device` flag decides; without one, what this host has."""
    if config.engine != "sglang":
        return False
    asked = dict(config.flags).get("device")
    return asked == "cpu" if asked is not None else not has_accelerator()


def cpu_setup(environment: Mapping[str, str]) -> tuple[Flags, dict[str, str]]:
    """Flags and variables to add, given the variables that the server would get otherwise."""
    stand_in = str(files("ddbench") / "sglang_plugin" / "stand_in")
    path = [stand_in, *filter(None, [environment.get("PYTHONPATH")])]
    return tuple(CPU_FLAGS.items()), {**_CPU_ENV, "PYTHONPATH": ":".join(path)}
