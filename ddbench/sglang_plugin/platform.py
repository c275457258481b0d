"""SGLang's view of "a plain CPU": what it may do there, and with which backends.

An out-of-tree platform, because SGLang's own CPU platform refuses speculative decoding
(sglang/srt/arg_groups/speculative_hook.py `_handle_dflash`).
"""

import torch
from sglang.srt.platforms.cpu import CpuDeviceMixin
from sglang.srt.platforms.device_mixin import PlatformEnum
from sglang.srt.platforms.interface import PlatformCapabilities, SRTPlatform

ATTENTION_BACKEND = "torch_native"

# What has been run here, against autoregressive output. EAGLE needs a multi-step decode backend.
ALGORITHMS = frozenset({"DFLASH", "DDTREE", "NGRAM", "STANDALONE"})


class DdbenchCpuPlatform(CpuDeviceMixin, SRTPlatform):
    _enum = PlatformEnum.OOT
    capabilities = PlatformCapabilities()  # no Triton, no graphs

    def is_cpu(self) -> bool:
        """An out-of-tree platform says no by default, and SGLang asks this for CPU code paths."""
        return True

    def is_pin_memory_available(self, device: object = None) -> bool:  # noqa: ARG002
        return False

    def get_default_attention_backend(self) -> str:
        return ATTENTION_BACKEND

    def get_default_speculative_draft_attention_backend(self, algorithm: str) -> str:  # noqa: ARG002
        return ATTENTION_BACKEND

    def supports_speculative_algorithm(self, algorithm: str) -> bool:
        return algorithm in ALGORITHMS

    def supports_speculative_draft_attention_backend(self, algorithm: str, backend: str) -> bool:
        return algorithm in ALGORITHMS and backend == ATTENTION_BACKEND

    def get_dispatch_key_name(self) -> str:
        return "native"  # the torch form of each fused operation

    def get_compile_backend(self, mode: str | None = None) -> str:  # noqa: ARG002
        return "eager"

    def post_load_model(self, model: torch.nn.Module) -> None:
        """Keep a bfloat16 drafter off a Triton kernel (sglang/srt/models/dflash.py, forward)."""
        for module in model.modules():
            if hasattr(module, "use_table_qk_norm_rope"):
                setattr(module, "use_table_qk_norm_rope", False)  # noqa: B010 - not an nn attribute
