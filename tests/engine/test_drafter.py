"""The drafter against a float64 recomputation of what DFlash does in SGLang, one block alone."""

import math

import pytest
import torch

from ddbench.engine.drafter import Drafter, DrafterConfig
from ddbench.engine.qwen3_layer import LayerShape, random_tensors
from ddbench.engine.target import Target, TargetConfig

SHAPE = LayerShape(
    hidden_size=32,
    intermediate_size=56,
    attention_heads=4,
    kv_heads=2,
    head_dim=8,
    rms_norm_eps=1e-6,
)
TARGET_CONFIG = TargetConfig(70, 3, SHAPE, 10_000.0, 600, eos_token_id=0)
CONFIG = DrafterConfig(
    vocab_size=70,
    layers=2,
    layer=SHAPE,
    rope_theta=10_000.0,
    max_positions=600,
    block_size=5,
    mask_token_id=3,
    target_layer_ids=(0, 1),
    target_layers=3,
)


def large(tensors, seed):
    generator = torch.Generator().manual_seed(seed)
    return {
        name: tensor * 8
        if tensor.dim() > 1
        else torch.rand(tensor.shape, generator=generator) + 0.5
        for name, tensor in tensors.items()
    }


TARGET_WEIGHTS = large(random_tensors(TARGET_CONFIG.tensors(), 0), 10)
WEIGHTS = large(random_tensors(CONFIG.tensors(), 1), 11)
DRAFTER = Drafter(Target(TARGET_CONFIG, TARGET_WEIGHTS), CONFIG, WEIGHTS)


def norm(x, weight):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + SHAPE.rms_norm_eps) * weight


def rope(x, positions):
    """x (rows, heads, size) as complex numbers turned by their angle."""
    half = SHAPE.head_dim // 2
    rates = CONFIG.rope_theta ** (-torch.arange(half, dtype=torch.float64) / half)
    turn = torch.polar(torch.ones(1, 1, 1, dtype=torch.float64), positions[:, None, None] * rates)
    turned = torch.complex(x[..., :half], x[..., half:]) * turn
    return torch.cat((turned.real, turned.imag), -1)


def oracle(features, root):
    """features (T, F): the whole context. Returns log-probabilities (L, V)."""
    w = {name: tensor.double() for name, tensor in WEIGHTS.items()}
    t = {name: tensor.double() for name, tensor in TARGET_WEIGHTS.items()}
    rows, block = len(features), CONFIG.block_size
    context = norm(features.double() @ w["fc.weight"].T, w["hidden_norm.weight"])
    x = t["model.embed_tokens.weight"][[root] + [CONFIG.mask_token_id] * (block - 1)]
    places = torch.arange(rows + block, dtype=torch.float64)
    for layer in range(CONFIG.layers):
        a, p = f"layers.{layer}.self_attn", f"layers.{layer}"
        h = norm(x, w[f"{p}.input_layernorm.weight"])
        source = torch.cat((context, h))
        heads = {
            "q": (h @ w[f"{a}.q_proj.weight"].T).view(block, -1, SHAPE.head_dim),
            "k": (source @ w[f"{a}.k_proj.weight"].T).view(rows + block, -1, SHAPE.head_dim),
            "v": (source @ w[f"{a}.v_proj.weight"].T).view(rows + block, -1, SHAPE.head_dim),
        }
        q = rope(norm(heads["q"], w[f"{a}.q_norm.weight"]), places[rows:])
        k = rope(norm(heads["k"], w[f"{a}.k_norm.weight"]), places)
        k, v = k.repeat_interleave(2, 1), heads["v"].repeat_interleave(2, 1)
        shares = (torch.einsum("ihd,jhd->hij", q, k) / math.sqrt(SHAPE.head_dim)).softmax(-1)
        seen = torch.einsum("hij,jhd->ihd", shares, v).flatten(1)
        x = x + seen @ w[f"{a}.o_proj.weight"].T
        h = norm(x, w[f"{p}.post_attention_layernorm.weight"])
        gate = h @ w[f"{p}.mlp.gate_proj.weight"].T
        inner = gate * torch.sigmoid(gate) * (h @ w[f"{p}.mlp.up_proj.weight"].T)
        x = x + inner @ w[f"{p}.mlp.down_proj.weight"].T
    return (norm(x, w["norm.weight"])[1:] @ t["lm_head.weight"].T).log_softmax(-1)


def random_features(rows, seed):
    return torch.randn(rows, 64, generator=torch.Generator().manual_seed(seed))


def append(cache, features, *, slot=0, start=0):
    DRAFTER.append_context(
        features[None],
        cache=cache,
        slots=torch.tensor([slot]),
        starts=torch.tensor([start]),
        counts=torch.tensor([len(features)]),
    )


def draft(cache, roots, prefixes, slots):
    return DRAFTER.draft(
        torch.tensor(roots), torch.tensor(prefixes), cache=cache, slots=torch.tensor(slots)
    )


@pytest.mark.parametrize("rows", [1, 12, 270])
def test_a_draft_equals_the_float64_oracle(rows):
    features, cache = random_features(rows, rows), DRAFTER.new_cache(1)
    append(cache, features)

    log_probs = draft(cache, [41], [rows], [0])

    assert log_probs.shape == (1, 4, 70)
    assert torch.allclose(log_probs[0].double(), oracle(features, 41), atol=2e-4)
    assert torch.allclose(log_probs.exp().sum(-1), torch.ones(1, 4), atol=1e-5)


@pytest.mark.parametrize("slots", [[0, 1, 2], [3, 0, 1]])
def test_a_batch_drafts_what_single_requests_draft(slots):
    lens, roots = [3, 25, 8], [5, 6, 7]
    contexts = [random_features(rows, rows) for rows in lens]
    cache = DRAFTER.new_cache(4)
    padded = torch.zeros(3, 25, 64)
    for row, context in enumerate(contexts):
        padded[row, : len(context)] = context
    DRAFTER.append_context(
        padded,
        cache=cache,
        slots=torch.tensor(slots),
        starts=torch.zeros(3, dtype=torch.int64),
        counts=torch.tensor(lens),
    )

    log_probs = draft(cache, roots, lens, slots)

    for row, context in enumerate(contexts):
        assert torch.allclose(log_probs[row].double(), oracle(context, roots[row]), atol=2e-4)


def test_a_block_leaves_no_trace_once_its_rows_are_appended():
    features, cache = random_features(20, 1), DRAFTER.new_cache(1)
    append(cache, features[:10])
    draft(cache, [9], [10], [0])
    append(cache, features[10:13], start=10)
    draft(cache, [8], [13], [0])
    append(cache, features[13:], start=13)

    log_probs = draft(cache, [7], [20], [0])

    assert torch.allclose(log_probs[0].double(), oracle(features, 7), atol=2e-4)


def test_it_asks_the_target_for_the_layers_it_was_trained_on():
    assert DRAFTER.target.feature_layers == (0, 1)
