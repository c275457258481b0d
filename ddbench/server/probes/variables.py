"""Environment variables that change what a server does."""

from ddbench.server.probes.probe import Subject
from ddbench.server.redact import redact_mapping

_PREFIXES = (
    "SGLANG_",
    "SGL_",
    "DDBENCH_",
    "DFLASH_",
    "DDTREE_",
    "NCCL_",
    "CUDA_",
    "TRITON_",
    "FLASHINFER_",
    "TORCH_",
    "PYTORCH_",
    "HF_",
    "OMP_",
    "MKL_",
)
_NAMES = ("PYTHONPATH", "LD_PRELOAD", "TOKENIZERS_PARALLELISM")
_OURS = ("DDBENCH_SERVER_ID", "DDBENCH_SCRATCH")  # of a launch, and where a host keeps its log


def variables(subject: Subject) -> dict[str, str]:
    """`env.NAME` for each that is set."""
    chosen = {
        name: value
        for name, value in sorted(subject.env.items())
        if (name.startswith(_PREFIXES) or name in _NAMES) and name not in _OURS
    }
    return {f"env.{name}": value for name, value in redact_mapping(chosen).items()}
