"""The drafter: DFlash block diffusion, one pass for a whole block.

Computes what SGLang 0.5.23 computes from the same files:

- A context row is a token whose target forward is done. Its features, the hidden states that
  leave the target layers target_layer_ids, go through `fc`, then `hidden_norm`, and from there
  straight into each layer's K and V (no input_layernorm; k_norm and rotary at the row's own
  position). Context rows have no queries and no MLP: models/dflash.py project_target_hidden,
  kv_proj_only; speculative/dflash_worker_v2.py _append_target_hidden_to_draft_kv_by_loc.
- The block is [root, mask * L] at positions prefix..prefix+L, embedded by the target's table
  unscaled; root is the newest token, not yet in the context. Each layer is a Qwen3 layer whose
  queries see the whole context and the whole block, both ways (ENCODER_ONLY).
- After the final norm, the target's own head reads positions 1..L; position i predicts the token
  *at* prefix + i, not the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from ddbench.engine.kv_cache import KvCache
from ddbench.engine.qwen3_layer import (
    LayerShape,
    Qwen3Layer,
    Rotary,
    attention_mask,
    random_tensors,
)
from ddbench.engine.target import Target


@dataclass(frozen=True, slots=True)
class DrafterConfig:
    """block_size counts the root: a block drafts block_size - 1 = L tokens."""

    vocab_size: int
    layers: int
    layer: LayerShape
    rope_theta: float
    max_positions: int
    block_size: int
    mask_token_id: int
    target_layer_ids: tuple[int, ...]
    target_layers: int

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of every weight in the layout SGLang's DFlashDraftModel loads."""
        hidden = self.layer.hidden_size
        shapes: dict[str, tuple[int, ...]] = {}
        for index in range(self.layers):
            shapes |= self.layer.tensors(f"layers.{index}")
        return shapes | {
            "fc.weight": (hidden, hidden * len(self.target_layer_ids)),
            "hidden_norm.weight": (hidden,),
            "norm.weight": (hidden,),
        }


class Drafter:
    """Borrows the target's embedding and head, and sets which features the target returns."""

    def __init__(
        self, target: Target, config: DrafterConfig, weights: Mapping[str, Tensor]
    ) -> None:
        self.config = config
        self.target = target
        target.feature_layers = config.target_layer_ids
        self._fc = weights["fc.weight"].float()
        self._hidden_norm = weights["hidden_norm.weight"].float()
        self._norm = weights["norm.weight"].float()
        self._layers = [
            Qwen3Layer(config.layer, weights, f"layers.{index}") for index in range(config.layers)
        ]
        self._rotary = Rotary.build(config.layer.head_dim, config.rope_theta, config.max_positions)

    @classmethod
    def random(cls, target: Target, config: DrafterConfig, seed: int) -> "Drafter":
        return cls(target, config, random_tensors(config.tensors(), seed))

    def new_cache(self, slots: int) -> KvCache:
        shape = self.config.layer
        return KvCache(self.config.layers, shape.kv_heads, shape.head_dim, slots)

    @torch.inference_mode()
    def append_context(
        self, features: Tensor, *, cache: KvCache, slots: Tensor, starts: Tensor, counts: Tensor
    ) -> None:
        """Make target features of rows starts..starts+counts-1 context of each request.

        features: (n, W, F) float32, counts <= W rows of it alive. slots, starts, counts: (n,)
        int64. Positions are the row numbers. Dead rows may be written behind the live ones: whoever
        appends next writes over them, and no one sees them before.
        """
        width = max(1, int(counts.max()))
        shape = self.config.layer
        context = functional.rms_norm(
            functional.linear(features[:, :width], self._fc),
            (shape.hidden_size,),
            self._hidden_norm,
            shape.rms_norm_eps,
        )
        rotary = self._rotary.at(starts[:, None] + torch.arange(width))
        for index, layer in enumerate(self._layers):
            keys, values = layer.project_context(context, rotary)
            cache.write(index, slots, starts, keys, values)

    @torch.inference_mode()
    def draft(
        self, root_ids: Tensor, prefix_lens: Tensor, *, cache: KvCache, slots: Tensor
    ) -> Tensor:
        """Log-probabilities of the L tokens after the root, (n, L, V) float32.

        root_ids, prefix_lens, slots: (n,) int64. All context rows < prefix_len must be there; the
        block's own K/V are left in rows prefix_len..prefix_len+L, for append_context to replace.
        """
        n, block = root_ids.shape[0], self.config.block_size
        shape = self.config.layer
        ids = torch.full((n, block), self.config.mask_token_id)
        ids[:, 0] = root_ids
        rows = int(prefix_lens.max()) + block
        mask = None
        if n > 1:
            both_ways = torch.ones(n, block, block, dtype=torch.bool)
            groups = shape.attention_heads // shape.kv_heads
            mask = attention_mask(prefix_lens, both_ways, groups, rows)

        rotary = self._rotary.at(prefix_lens[:, None] + torch.arange(block))
        x = self.target.embed(ids)
        for index, layer in enumerate(self._layers):
            x = layer.forward(
                x,
                rotary,
                layer=index,
                cache=cache,
                slots=slots,
                starts=prefix_lens,
                rows=rows,
                mask=mask,
            )
        hidden = functional.rms_norm(x[:, 1:], (shape.hidden_size,), self._norm, shape.rms_norm_eps)
        return functional.log_softmax(self.target.head(hidden), dim=-1)
