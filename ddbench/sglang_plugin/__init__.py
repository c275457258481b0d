"""What runs *inside* SGLang's own processes, through its own plug-in entry points.

SGLang 0.5.23 serves on a plain CPU with this, and 0.5.11 with the v0_5_11 modules (autoregressive,
DFLASH and, patched, DDTREE). Both entry points do nothing unless
DDBENCH_SGLANG_CPU=1, or DDBENCH_RECORD_DRAFTS=FILE for the one that records drafts (probe.py), so
ddbench may be installed beside a production SGLang. This module imports
only the standard library: SGLang imports it whenever ddbench is installed there.

A sweep that wants the CPU sets for the server's process:

    DDBENCH_SGLANG_CPU=1            turns the entry points on
    SGLANG_PLATFORM=ddbench_cpu     makes SGLang stop, with our sentence, when the platform refuses;
                                    without it SGLang logs the refusal and goes on with its own
    SGLANG_USE_CPU_ENGINE=1         SGLang takes its `sgl_kernel` CPU functions
    CUDA_VISIBLE_DEVICES=           empty: with a GPU in sight SGLang mixes the two paths
    HF_HUB_OFFLINE=1                local weights only
    TOKENIZERS_PARALLELISM=false    no warning after each fork
    PYTHONPATH=<stand_in_folder()>  in front of what is there: the stand-in for `sgl_kernel`

and the flags `--device cpu --attention-backend torch_native --sampling-backend pytorch
--disable-cuda-graph --max-total-tokens N` (N KV slots; without it SGLang
takes most of the memory). `--dtype float32` is fast on CPUs without AVX512-BF16, and the one type
to compare in.
PYTHONDONTWRITEBYTECODE is best taken out of the environment: a server is three processes, and
each compiles 50 CPU-seconds of Python when nothing is cached.

DDBENCH_SGLANG_FAULT=verify-mask-dropped | accept-one-too-many plants a fault for the
differential test's controls; never set it in a sweep.
"""

import os
from pathlib import Path

from ddbench.errors import DdbenchError

SUPPORTED_VERSION = "0.5.23"
OLDER_VERSION = "0.5.11"
"""Spec v1, for the DDTREE patches of that version; drafts are not recorded there."""
SWITCH = "DDBENCH_SGLANG_CPU"
RECORD_VARIABLE = "DDBENCH_RECORD_DRAFTS"
PLATFORM_NAME = "ddbench_cpu"


class SglangVersionUnsupported(DdbenchError):
    def __init__(self, version: str) -> None:
        super().__init__(
            f"ddbench runs SGLang {SUPPORTED_VERSION} on a CPU, and this is SGLang {version}",
            remedy=f"Install sglang=={SUPPORTED_VERSION} in an environment of its own: "
            "`ddbench doctor --install-sglang-cpu DIR` does it.",
        )


def stand_in_folder() -> Path:
    """The folder to put first on PYTHONPATH; it holds a package named `sgl_kernel`."""
    return Path(__file__).parent / "stand_in"


def is_switched_on() -> bool:
    return os.environ.get(SWITCH) == "1"


def activate_platform() -> str | None:
    """Entry point `sglang.srt.platforms`: the name of our platform class, or None.

    Raises SglangVersionUnsupported when switched on in another SGLang.
    """
    if not is_switched_on():
        return None
    if _version() == OLDER_VERSION:
        return "ddbench.sglang_plugin.v0_5_11_platform:DdbenchCpuPlatform"
    _require_supported_version()
    return "ddbench.sglang_plugin.platform:DdbenchCpuPlatform"


def load_hooks() -> None:
    """Entry point `sglang.srt.plugins`, called in every process of the server.

    Raises SglangVersionUnsupported when switched on in another SGLang.
    """
    record_to = os.environ.get(RECORD_VARIABLE)
    if not (is_switched_on() or record_to):
        return
    if _version() == OLDER_VERSION and not record_to:
        from ddbench.sglang_plugin import v0_5_11_hooks

        v0_5_11_hooks.register_hooks()
        return
    _require_supported_version()
    if is_switched_on():
        from ddbench.sglang_plugin.hooks import register_hooks

        register_hooks()
    if record_to:
        from ddbench.sglang_plugin.probe import register_probe

        register_probe(Path(record_to))


def _version() -> str:
    from sglang.version import __version__ as version

    return str(version)


def _require_supported_version() -> None:
    version = _version()
    if version != SUPPORTED_VERSION:
        error = SglangVersionUnsupported(version)
        error.add_note(error.remedy)  # SGLang prints the traceback, and notes are part of it
        raise error
