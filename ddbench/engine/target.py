"""The target: a Qwen3 decoder in float32, over a KV cache, a batch of windows at a time.

Computes what transformers' and SGLang's Qwen3ForCausalLM compute from the same files.

Source: transformers modeling_qwen3.py; sglang/srt/models/qwen3.py (0.5.23), where the hidden
state that leaves layer k is captured before layer k + 1 (set_dflash_layers_to_capture).
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


@dataclass(frozen=True, slots=True)
class TargetConfig:
    vocab_size: int
    layers: int
    layer: LayerShape
    rope_theta: float
    max_positions: int
    eos_token_id: int
    tied_head: bool = False

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of every weight in Hugging Face layout."""
        hidden = self.layer.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "model.embed_tokens.weight": (self.vocab_size, hidden)
        }
        for index in range(self.layers):
            shapes |= self.layer.tensors(f"model.layers.{index}")
        shapes["model.norm.weight"] = (hidden,)
        if not self.tied_head:
            shapes["lm_head.weight"] = (self.vocab_size, hidden)
        return shapes


@dataclass(frozen=True, slots=True)
class TargetOutput:
    """logits: (n, W, V) float32, (n, 1, V) with logit_rows, (n, 0, V) without want_logits.

    features: (n, W, F) float32, the hidden states that leave the feature layers, concatenated.
    """

    logits: Tensor
    features: Tensor


class Target:
    """feature_layers: the layers whose outputs a forward returns; a Drafter sets it."""

    def __init__(self, config: TargetConfig, weights: Mapping[str, Tensor]) -> None:
        self.config = config
        self.feature_layers: tuple[int, ...] = ()
        self._embedding = weights["model.embed_tokens.weight"].float()
        self._norm = weights["model.norm.weight"].float()
        self._head = self._embedding if config.tied_head else weights["lm_head.weight"].float()
        self._layers = [
            Qwen3Layer(config.layer, weights, f"model.layers.{index}")
            for index in range(config.layers)
        ]
        self._rotary = Rotary.build(config.layer.head_dim, config.rope_theta, config.max_positions)

    @classmethod
    def random(cls, config: TargetConfig, seed: int) -> "Target":
        return cls(config, random_tensors(config.tensors(), seed))

    def new_cache(self, slots: int) -> KvCache:
        shape = self.config.layer
        return KvCache(self.config.layers, shape.kv_heads, shape.head_dim, slots)

    def embed(self, ids: Tensor) -> Tensor:
        """(...) int64 -> (..., H)."""
        return functional.embedding(ids, self._embedding)

    def head(self, hidden: Tensor) -> Tensor:
        """Normed hidden states (..., H) -> logits (..., V)."""
        return functional.linear(hidden, self._head)

    @torch.inference_mode()
    def forward(
        self,
        token_ids: Tensor,
        positions: Tensor,
        *,
        cache: KvCache,
        slots: Tensor,
        prefix_lens: Tensor,
        window_mask: Tensor | None = None,
        logit_rows: Tensor | None = None,
        want_logits: bool = True,
    ) -> TargetOutput:
        """Run a window of W tokens of n requests; K/V go to rows prefix_len..prefix_len+W-1.

        Every token sees all rows before its request's prefix_len, and of the window what
        window_mask allows. Rows follow the order of the window, rotary embedding the positions:
        nodes of a tree share one position a depth. A window padded at its end is fine: rows past
        the real tokens are dead as long as later prefix_lens leave them out.

        Args:
            token_ids, positions: (n, W) int64.
            slots, prefix_lens: (n,) int64; slots are distinct.
            window_mask: (n, W, W) bool, [i, j] True when token i may see token j (itself
                included); None is causal.
            logit_rows: (n,) int64; the one row of each window whose logits are wanted, e.g. the
                last of a prefill.
        """
        n, width = token_ids.shape
        if n == 1 and width == 1:
            rows, mask = int(prefix_lens) + 1, None
        else:
            if window_mask is None:
                window_mask = torch.ones(width, width, dtype=torch.bool).tril().expand(n, -1, -1)
            rows = int(prefix_lens.max()) + width
            groups = self.config.layer.attention_heads // self.config.layer.kv_heads
            mask = attention_mask(prefix_lens, window_mask, groups, rows)

        rotary = self._rotary.at(positions)
        x = functional.embedding(token_ids, self._embedding)
        features = {}
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
            if index in self.feature_layers:
                features[index] = x
        return TargetOutput(
            logits=self._logits(x, logit_rows, want_logits),
            features=torch.cat([features[index] for index in self.feature_layers], dim=-1)
            if self.feature_layers
            else x[:, :, :0],
        )

    def _logits(self, x: Tensor, logit_rows: Tensor | None, want_logits: bool) -> Tensor:
        if not want_logits:
            return x.new_empty(x.shape[0], 0, self.config.vocab_size)
        if logit_rows is not None:
            x = x[torch.arange(x.shape[0]), logit_rows][:, None]
        shape = self.config.layer
        return self.head(
            functional.rms_norm(x, (shape.hidden_size,), self._norm, shape.rms_norm_eps)
        )
