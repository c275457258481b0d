"""The pair's forward passes for training: whole sequences, autograd, no cache.

Written apart from the inference modules, on the same weight names; a test holds the two equal.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from ddbench.engine.drafter import DrafterConfig
from ddbench.engine.qwen3_layer import LayerShape, Rotary, rotate
from ddbench.engine.target import TargetConfig

Weights = Mapping[str, Tensor]


def target_hidden(
    weights: Weights, config: TargetConfig, ids: Tensor, feature_layers: Sequence[int] = ()
) -> tuple[Tensor, Tensor | None]:
    """(n, T) ids from position 0, causal -> normed hidden states (n, T, H), features (n, T, F)."""
    positions = torch.arange(ids.shape[1])[None]
    rotary = Rotary.build(config.layer.head_dim, config.rope_theta, ids.shape[1]).at(positions)
    x = functional.embedding(ids, weights["model.embed_tokens.weight"])
    features = []
    for index in range(config.layers):
        x = _layer(weights, f"model.layers.{index}", config.layer, x, rotary, None, None)
        if index in feature_layers:
            features.append(x)
    hidden = _norm(x, weights["model.norm.weight"], config.layer)
    return hidden, torch.cat(features, -1) if features else None


def head_weight(weights: Weights, config: TargetConfig) -> Tensor:
    return weights["model.embed_tokens.weight" if config.tied_head else "lm_head.weight"]


def drafter_hidden(
    weights: Weights,
    config: DrafterConfig,
    embedding: Tensor,
    features: Tensor,
    roots: Tensor,
    anchors: Tensor,
) -> Tensor:
    """Many blocks a sequence, each seeing the context before its anchor, and itself.

    features: (n, T, F). roots, anchors: (n, A) int64, the token and the position of each block's
    root. Returns the normed hidden states of the masks, (n, A, L, H).
    """
    n, length, _ = features.shape
    blocks, block = anchors.shape[1], config.block_size
    ids = torch.full((n, blocks, block), config.mask_token_id)
    ids[:, :, 0] = roots
    positions = (anchors[:, :, None] + torch.arange(block)).flatten(1)  # (n, A * block)
    table = Rotary.build(config.layer.head_dim, config.rope_theta, length + block)

    owner = torch.arange(blocks).repeat_interleave(block)
    before = torch.arange(length) < anchors.repeat_interleave(block, 1)[:, :, None]
    same = (owner[:, None] == owner).expand(n, -1, -1)
    mask = torch.cat((before, same), -1)  # (n, A * block, T + A * block)

    context = _norm(
        functional.linear(features, weights["fc.weight"]),
        weights["hidden_norm.weight"],
        config.layer,
    )
    context_rotary = table.at(torch.arange(length)[None])
    x = functional.embedding(ids.flatten(1), embedding)
    for index in range(config.layers):
        prefix = f"layers.{index}"
        keys, values = _keys_values(weights, prefix, config.layer, context, context_rotary)
        x = _layer(weights, prefix, config.layer, x, table.at(positions), (keys, values), mask)
    x = x.view(n, blocks, block, -1)[:, :, 1:]
    return _norm(x, weights["norm.weight"], config.layer)


def _layer(
    weights: Weights,
    prefix: str,
    shape: LayerShape,
    x: Tensor,
    rotary: tuple[Tensor, Tensor],
    context: tuple[Tensor, Tensor] | None,
    mask: Tensor | None,
) -> Tensor:
    n, length, _ = x.shape
    normed = _norm(x, weights[f"{prefix}.input_layernorm.weight"], shape)
    query = functional.linear(normed, weights[f"{prefix}.self_attn.q_proj.weight"])
    query = query.view(n, length, shape.attention_heads, shape.head_dim)
    query = functional.rms_norm(
        query,
        (shape.head_dim,),
        weights[f"{prefix}.self_attn.q_norm.weight"],
        shape.rms_norm_eps,
    )
    keys, values = _keys_values(weights, prefix, shape, normed, rotary)
    if context is not None:
        keys, values = torch.cat((context[0], keys), 1), torch.cat((context[1], values), 1)
    groups = shape.attention_heads // shape.kv_heads
    seen = functional.scaled_dot_product_attention(
        rotate(query, rotary).transpose(1, 2),
        keys.repeat_interleave(groups, 2).transpose(1, 2),
        values.repeat_interleave(groups, 2).transpose(1, 2),
        attn_mask=None if mask is None else mask[:, None],
        is_causal=mask is None,
    )
    seen = seen.transpose(1, 2).flatten(2)
    x = x + functional.linear(seen, weights[f"{prefix}.self_attn.o_proj.weight"])
    normed = _norm(x, weights[f"{prefix}.post_attention_layernorm.weight"], shape)
    gate = functional.linear(normed, weights[f"{prefix}.mlp.gate_proj.weight"])
    up = functional.linear(normed, weights[f"{prefix}.mlp.up_proj.weight"])
    down = weights[f"{prefix}.mlp.down_proj.weight"]
    return x + functional.linear(functional.silu(gate) * up, down)


def _keys_values(
    weights: Weights, prefix: str, shape: LayerShape, x: Tensor, rotary: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    heads = (*x.shape[:2], shape.kv_heads, shape.head_dim)
    keys = functional.linear(x, weights[f"{prefix}.self_attn.k_proj.weight"]).view(heads)
    norm = weights[f"{prefix}.self_attn.k_norm.weight"]
    keys = functional.rms_norm(keys, (shape.head_dim,), norm, shape.rms_norm_eps)
    values = functional.linear(x, weights[f"{prefix}.self_attn.v_proj.weight"]).view(heads)
    return rotate(keys, rotary), values


def _norm(x: Tensor, weight: Tensor, shape: LayerShape) -> Tensor:
    return functional.rms_norm(x, (shape.hidden_size,), weight, shape.rms_norm_eps)
