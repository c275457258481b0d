"""SGLang 0.5.23's torch_native attention, with the one mode it lacks: verifying drafted tokens.

In TARGET_VERIFY every request brings `draft_token_num` tokens (drafted_attention.py). The drafter's
own pass of DFlash runs in this mode too, with layers marked ENCODER_ONLY.

sglang/srt/layers/attention/torch_native_backend.py reads the extend lengths, which are None
in this mode, and no custom mask.
"""

from typing import Any

from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend
from sglang.srt.mem_cache.memory_pool import KVWriteLoc
from torch import Tensor

from ddbench.sglang_plugin.drafted_attention import attend, blocks_of
from ddbench.sglang_plugin.faults import Fault, planted_fault
from ddbench.sglang_plugin.radix_layer import layer_attention, sees_all


class VerifyingAttention(TorchNativeAttnBackend):
    def __init__(self, model_runner: Any) -> None:
        super().__init__(model_runner)
        self._drops_the_mask = (
            planted_fault() is Fault.VERIFY_MASK_DROPPED and not model_runner.is_draft_worker
        )

    def forward_extend(
        self,
        q: Tensor,
        k: Tensor | None,
        v: Tensor | None,
        layer: Any,
        forward_batch: Any,
        save_kv_cache: bool = True,
    ) -> Tensor:
        """q: (tokens, heads * head_dim), and the output likewise."""
        if not forward_batch.forward_mode.is_target_verify():
            extended: Tensor = super().forward_extend(q, k, v, layer, forward_batch, save_kv_cache)
            return extended
        if self.use_sliding_window_kv_pool:
            raise NotImplementedError(
                "ddbench's CPU attention verifies drafts only with one KV pool, not with a second "
                "one for sliding-window layers"
            )
        if save_kv_cache and k is not None and v is not None:
            location = KVWriteLoc(forward_batch.out_cache_loc, None)
            self.token_to_kv_pool.set_kv_buffer(layer, location, k, v)

        prefix_lens = forward_batch.seq_lens.tolist()
        spec_info = forward_batch.spec_info
        return attend(
            q,
            self.token_to_kv_pool.get_key_buffer(layer.layer_id),
            self.token_to_kv_pool.get_value_buffer(layer.layer_id),
            rows=self.req_to_token_pool.req_to_token[forward_batch.req_pool_indices],
            prefix_lens=prefix_lens,
            blocks=blocks_of(
                getattr(spec_info, "custom_mask", None),
                prefix_lens,
                int(spec_info.draft_token_num),
                sees_all=sees_all(layer) or self._drops_the_mask,
            ),
            layer=layer_attention(layer),
        )
