"""One Qwen3 decoder layer for inference: few operations, weights fused once at load.

Per head RMSNorm on q and k, rotary embedding on halves ("neox"), grouped-query attention without
bias, SwiGLU. Target and drafter are stacks of this layer; they differ in what they attend to.

Source: transformers modeling_qwen3.py; sglang/srt/models/qwen3.py and dflash.py (0.5.23).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from ddbench.engine.kv_cache import KvCache

INIT_STD = 0.02


@dataclass(frozen=True, slots=True)
class LayerShape:
    hidden_size: int
    intermediate_size: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    rms_norm_eps: float

    def tensors(self, prefix: str) -> dict[str, tuple[int, ...]]:
        """Name -> shape of one layer's weights in Hugging Face layout."""
        hidden, inner = self.hidden_size, self.intermediate_size
        q, kv = self.attention_heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            f"{prefix}.input_layernorm.weight": (hidden,),
            f"{prefix}.self_attn.q_proj.weight": (q, hidden),
            f"{prefix}.self_attn.k_proj.weight": (kv, hidden),
            f"{prefix}.self_attn.v_proj.weight": (kv, hidden),
            f"{prefix}.self_attn.o_proj.weight": (hidden, q),
            f"{prefix}.self_attn.q_norm.weight": (self.head_dim,),
            f"{prefix}.self_attn.k_norm.weight": (self.head_dim,),
            f"{prefix}.post_attention_layernorm.weight": (hidden,),
            f"{prefix}.mlp.gate_proj.weight": (inner, hidden),
            f"{prefix}.mlp.up_proj.weight": (inner, hidden),
            f"{prefix}.mlp.down_proj.weight": (hidden, inner),
        }


@dataclass(frozen=True, slots=True)
class Rotary:
    """cos and signed sin of every position, (positions, 1, head_dim) float32.

    rotate_half(x) * sin == roll(x, head_dim / 2) * signed_sin, which is one operation less.
    """

    cos: Tensor
    signed_sin: Tensor

    @classmethod
    def build(cls, head_dim: int, theta: float, positions: int) -> "Rotary":
        exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
        angles = torch.arange(positions, dtype=torch.float32)[:, None] * theta**-exponents
        sin = torch.cat((-angles.sin(), angles.sin()), dim=-1)
        cos = torch.cat((angles.cos(), angles.cos()), dim=-1)
        return cls(cos[:, None], sin[:, None])

    def at(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """positions (n, W) int64 -> two tensors (n, W, 1, head_dim)."""
        return self.cos[positions], self.signed_sin[positions]


class Qwen3Layer:
    def __init__(self, shape: LayerShape, weights: Mapping[str, Tensor], prefix: str) -> None:
        def weight(name: str) -> Tensor:
            return weights[f"{prefix}.{name}.weight"].float()

        self.shape = shape
        self.input_norm = weight("input_layernorm")
        self.post_norm = weight("post_attention_layernorm")
        q, k, v = (weight(f"self_attn.{x}_proj") for x in "qkv")
        self.qkv = torch.cat((q, k, v)).contiguous()
        self.kv = torch.cat((k, v)).contiguous()
        self.out = weight("self_attn.o_proj")
        q_norm, k_norm = weight("self_attn.q_norm"), weight("self_attn.k_norm")
        self.k_norm = k_norm
        self.qk_norm = torch.cat(
            (q_norm.expand(shape.attention_heads, -1), k_norm.expand(shape.kv_heads, -1))
        ).contiguous()  # (heads + kv_heads, head_dim)
        self.gate_up = torch.cat((weight("mlp.gate_proj"), weight("mlp.up_proj"))).contiguous()
        self.down = weight("mlp.down_proj")

    def forward(
        self,
        x: Tensor,
        rotary: tuple[Tensor, Tensor],
        *,
        layer: int,
        cache: KvCache,
        slots: Tensor,
        starts: Tensor,
        rows: int,
        mask: Tensor | None,
    ) -> Tensor:
        """Write the window's K/V, attend to the first `rows` rows of each slot, return (n, W, H).

        x: (n, W, H). rotary: cos and signed sin, (n, W, 1, head_dim) each. slots, starts: (n,).
        mask: (n, 1, groups * W, rows) bool, or None where every row may be seen.
        """
        shape = self.shape
        n, width, _ = x.shape
        heads, kv_heads, head_dim = shape.attention_heads, shape.kv_heads, shape.head_dim
        eps = shape.rms_norm_eps

        normed = functional.rms_norm(x, (shape.hidden_size,), self.input_norm, eps)
        qkv = functional.linear(normed, self.qkv).view(n, width, heads + 2 * kv_heads, head_dim)
        qk = (
            functional.rms_norm(qkv[:, :, : heads + kv_heads], (head_dim,), None, eps)
            * self.qk_norm
        )
        qk = rotate(qk, rotary)
        cache.write(layer, slots, starts, qk[:, :, heads:], qkv[:, :, heads + kv_heads :])
        keys, values = cache.view(layer, slots, rows)

        # Query heads of one KV head become rows of it: no K/V is repeated.
        groups = heads // kv_heads
        query = qk[:, :, :heads].reshape(n, width, kv_heads, groups, head_dim)
        query = query.permute(0, 2, 3, 1, 4).reshape(n, kv_heads, groups * width, head_dim)
        seen = functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        seen = seen.view(n, kv_heads, groups, width, head_dim).permute(0, 3, 1, 2, 4)
        x = x + functional.linear(seen.reshape(n, width, heads * head_dim), self.out)

        normed = functional.rms_norm(x, (shape.hidden_size,), self.post_norm, eps)
        gate, up = functional.linear(normed, self.gate_up).chunk(2, dim=-1)
        return x + functional.linear(functional.silu(gate) * up, self.down)

    def project_context(
        self, context: Tensor, rotary: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """K and V of context rows, (n, W, H) -> two (n, W, kv_heads, head_dim).

        The drafter's context is normed by hidden_norm already; input_layernorm is not applied.
        """
        n, width, _ = context.shape
        kv_heads, head_dim = self.shape.kv_heads, self.shape.head_dim
        kv = functional.linear(context, self.kv).view(n, width, 2 * kv_heads, head_dim)
        keys = functional.rms_norm(
            kv[:, :, :kv_heads], (head_dim,), self.k_norm, self.shape.rms_norm_eps
        )
        return rotate(keys, rotary), kv[:, :, kv_heads:]


def rotate(heads: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary embedding of (n, W, heads, head_dim) at the positions `rotary` was taken for."""
    cos, signed_sin = rotary
    return torch.addcmul(heads * cos, heads.roll(heads.shape[-1] // 2, -1), signed_sin)


def attention_mask(
    prefix_lens: Tensor, window_mask: Tensor, groups: int, rows: int
) -> Tensor | None:
    """Who sees what: every row before the prefix length, and the window under its own mask.

    prefix_lens: (n,) int64. window_mask: (n, W, W) bool. Returns (n, 1, groups * W, rows) bool,
    or None when nothing is hidden from anyone.
    """
    n, width, _ = window_mask.shape
    row = torch.arange(rows)
    mask = (row < prefix_lens[:, None])[:, None].repeat(1, width, 1)  # (n, W, rows)
    own = (prefix_lens[:, None] + torch.arange(width))[:, None].expand(n, width, width)
    mask.scatter_(2, own, window_mask)
    if bool(mask.all()):
        return None
    return mask.repeat(1, groups, 1)[:, None]


def random_tensors(shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, Tensor]:
    """Fresh float32 weights: ones for norms, normal(0, 0.02) for matrices."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.ones(shape)
        if len(shape) == 1
        else torch.randn(shape, generator=generator) * INIT_STD
        for name, shape in shapes.items()
    }
