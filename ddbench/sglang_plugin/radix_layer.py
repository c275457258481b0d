"""What both SGLang versions say of a layer's attention (sglang/srt/layers/radix_attention.py)."""

from typing import Any

from sglang.srt.layers.radix_attention import AttentionType

from ddbench.sglang_plugin.drafted_attention import LayerAttention


def sees_all(layer: Any) -> bool:
    """True for layers without a causal order: DFlash's drafter marks its own ENCODER_ONLY."""
    return bool(layer.is_cross_attention or layer.attn_type == AttentionType.ENCODER_ONLY)


def layer_attention(layer: Any) -> LayerAttention:
    """SGLang writes -1 or None for "no window"."""
    window = layer.sliding_window_size
    return LayerAttention(
        query_heads=layer.tp_q_head_num,
        kv_heads=layer.tp_k_head_num,
        key_dim=layer.qk_head_dim,
        value_dim=layer.v_head_dim,
        scaling=layer.scaling,
        sliding_window=None if window is None or window < 0 or sees_all(layer) else int(window),
    )
