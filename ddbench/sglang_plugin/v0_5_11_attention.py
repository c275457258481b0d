"""SGLang 0.5.11's torch_native attention, with verification of drafted tokens.

As attention.py for 0.5.23; here the pools hang on the batch, and slots are written by number.
"""

from typing import Any

from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend
from torch import Tensor

from ddbench.sglang_plugin.drafted_attention import attend, blocks_of
from ddbench.sglang_plugin.faults import Fault, planted_fault
from ddbench.sglang_plugin.radix_layer import layer_attention, sees_all


class VerifyingAttention(TorchNativeAttnBackend):
    verifies_trees = True  # the DDTREE patches for 0.5.11 ask

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
        pool = forward_batch.token_to_kv_pool
        if save_kv_cache and k is not None and v is not None:
            pool.set_kv_buffer(layer, forward_batch.out_cache_loc, k, v)

        prefix_lens = forward_batch.seq_lens.tolist()
        spec_info = forward_batch.spec_info
        table = forward_batch.req_to_token_pool.req_to_token
        return attend(
            q,
            pool.get_key_buffer(layer.layer_id),
            pool.get_value_buffer(layer.layer_id),
            rows=table[forward_batch.req_pool_indices],
            prefix_lens=prefix_lens,
            blocks=blocks_of(
                getattr(spec_info, "custom_mask", None),
                prefix_lens,
                int(spec_info.draft_token_num),
                sees_all=sees_all(layer) or self._drops_the_mask,
            ),
            layer=layer_attention(layer),
        )
