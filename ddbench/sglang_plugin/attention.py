"""SGLang's torch_native attention, with the one mode it lacks: verifying drafted tokens.

In TARGET_VERIFY every request brings `draft_token_num` tokens, whose KV slots are already in
the request's row of the token table. Three kinds of mask occur:

- linear drafts: none given; causal inside the block;
- trees (NGRAM, DDTREE): a custom mask, see verify_mask.py;
- the drafter's own pass of DFlash: layers marked ENCODER_ONLY; the block sees all of itself.

sglang/srt/layers/attention/torch_native_backend.py reads the extend lengths, which are None
in this mode, and no custom mask.
"""

from typing import Any

import torch
from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend
from sglang.srt.layers.radix_attention import AttentionType
from sglang.srt.mem_cache.memory_pool import KVWriteLoc
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ddbench.sglang_plugin.faults import Fault, planted_fault
from ddbench.sglang_plugin.verify_mask import attention_mask, split_custom_mask


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
        width = int(forward_batch.spec_info.draft_token_num)
        blocks = self._blocks(layer, forward_batch.spec_info, prefix_lens, width)
        keys = self.token_to_kv_pool.get_key_buffer(layer.layer_id)  # (slots, kv heads, dim)
        values = self.token_to_kv_pool.get_value_buffer(layer.layer_id)
        rows = self.req_to_token_pool.req_to_token[forward_batch.req_pool_indices]
        queries = q.view(len(prefix_lens), width, layer.tp_q_head_num, layer.qk_head_dim)

        outputs = []
        for query, row, prefix_len, block in zip(queries, rows, prefix_lens, blocks, strict=True):
            slots = row[: prefix_len + width].long()
            attended = scaled_dot_product_attention(
                query.transpose(0, 1)[None],  # (1, heads, width, dim)
                keys[slots].transpose(0, 1)[None].to(q.dtype),
                values[slots].transpose(0, 1)[None].to(q.dtype),
                attn_mask=attention_mask(block, prefix_len, _sliding_window(layer)),
                scale=layer.scaling,
                enable_gqa=layer.tp_q_head_num != layer.tp_k_head_num,
            )
            outputs.append(attended[0].transpose(0, 1))
        return torch.cat(outputs).reshape(q.shape[0], layer.tp_q_head_num * layer.v_head_dim)

    def _blocks(
        self, layer: Any, spec_info: Any, prefix_lens: list[int], width: int
    ) -> list[Tensor]:
        """One (width, width) bool mask a request."""
        everything = torch.ones(width, width, dtype=torch.bool)
        if _sees_all(layer) or self._drops_the_mask:
            return [everything] * len(prefix_lens)
        custom_mask = getattr(spec_info, "custom_mask", None)
        if custom_mask is not None and custom_mask.numel():
            return split_custom_mask(custom_mask, prefix_lens, width)
        return [everything.tril()] * len(prefix_lens)


def _sees_all(layer: Any) -> bool:
    return bool(layer.is_cross_attention or layer.attn_type == AttentionType.ENCODER_ONLY)


def _sliding_window(layer: Any) -> int | None:
    """SGLang writes -1 or None for "no window"."""
    window = layer.sliding_window_size
    return None if window is None or window < 0 or _sees_all(layer) else int(window)
