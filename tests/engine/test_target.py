"""The target against a plain float64 recomputation without cache, batch or mask tensor."""

import math

import pytest
import torch

from ddbench.engine.qwen3_layer import LayerShape, random_tensors
from ddbench.engine.target import Target, TargetConfig

SHAPE = LayerShape(
    hidden_size=48,
    intermediate_size=80,
    attention_heads=6,
    kv_heads=2,
    head_dim=16,
    rms_norm_eps=1e-6,
)
CONFIG = TargetConfig(
    vocab_size=90, layers=3, layer=SHAPE, rope_theta=10_000.0, max_positions=512, eos_token_id=0
)


def weights(seed=3, std_scale=6.0):
    """Larger than at initialisation, so that attention is far from uniform; norms are not 1."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: tensor * std_scale
        if tensor.dim() > 1
        else torch.rand(tensor.shape, generator=generator) + 0.5
        for name, tensor in random_tensors(CONFIG.tensors(), seed).items()
    }


WEIGHTS = weights()
TARGET = Target(CONFIG, WEIGHTS)
TARGET.feature_layers = (0, 1)


def norm(x, weight):
    return x / torch.sqrt((x * x).mean() + SHAPE.rms_norm_eps) * weight


def rope(x, position):
    """Pairs are (i, i + half)."""
    half = SHAPE.head_dim // 2
    turned = x.clone()
    for i in range(half):
        angle = position * CONFIG.rope_theta ** (-2 * i / SHAPE.head_dim)
        turned[i] = x[i] * math.cos(angle) - x[i + half] * math.sin(angle)
        turned[i + half] = x[i + half] * math.cos(angle) + x[i] * math.sin(angle)
    return turned


def oracle(path_ids):
    """Causal Qwen3 over one sequence, one vector at a time -> logits (T, V), layer outputs."""
    w = {name: tensor.double() for name, tensor in WEIGHTS.items()}
    size, groups = SHAPE.head_dim, SHAPE.attention_heads // SHAPE.kv_heads
    xs = [w["model.embed_tokens.weight"][i] for i in path_ids]
    outputs = []
    for layer in range(CONFIG.layers):
        p = f"model.layers.{layer}"
        attn = f"{p}.self_attn"
        keys, values, new = [], [], []
        for position, x in enumerate(xs):
            h = norm(x, w[f"{p}.input_layernorm.weight"])
            k = (w[f"{attn}.k_proj.weight"] @ h).view(-1, size)
            keys.append([rope(norm(one, w[f"{attn}.k_norm.weight"]), position) for one in k])
            values.append((w[f"{attn}.v_proj.weight"] @ h).view(-1, size))
            q = (w[f"{attn}.q_proj.weight"] @ h).view(-1, size)
            heads = []
            for head in range(SHAPE.attention_heads):
                query = rope(norm(q[head], w[f"{attn}.q_norm.weight"]), position)
                scores = torch.stack([query @ key[head // groups] for key in keys])
                shares = (scores / math.sqrt(size)).softmax(0)
                heads.append(
                    sum(s * v[head // groups] for s, v in zip(shares, values, strict=True))
                )
            x = x + w[f"{attn}.o_proj.weight"] @ torch.cat(heads)
            h = norm(x, w[f"{p}.post_attention_layernorm.weight"])
            gate = w[f"{p}.mlp.gate_proj.weight"] @ h
            inner = gate * torch.sigmoid(gate) * (w[f"{p}.mlp.up_proj.weight"] @ h)
            new.append(x + w[f"{p}.mlp.down_proj.weight"] @ inner)
        xs = new
        outputs.append(torch.stack(xs))
    logits = [w["lm_head.weight"] @ norm(x, w["model.norm.weight"]) for x in xs]
    return torch.stack(logits), outputs


def tokens(count, seed=0):
    return torch.randint(90, (count,), generator=torch.Generator().manual_seed(seed))


def run(ids, *, slot=0, cache=None, prefix=0, **options):
    cache = cache or TARGET.new_cache(4)
    positions = prefix + torch.arange(len(ids))
    return TARGET.forward(
        ids[None],
        positions[None],
        cache=cache,
        slots=torch.tensor([slot]),
        prefix_lens=torch.tensor([prefix]),
        **options,
    )


def close(ours, theirs, tolerance=1e-5):
    return bool((ours.double() - theirs).abs().max() <= tolerance * theirs.abs().max())


def test_a_whole_sequence_equals_the_float64_oracle():
    ids = tokens(14)

    output = run(ids)

    logits, layers = oracle(ids.tolist())
    assert close(output.logits[0], logits)
    assert close(output.features[0], torch.cat(layers[:2], -1))


def test_pieces_give_what_the_whole_gives():
    ids, cache = tokens(300, seed=1), TARGET.new_cache(1)
    whole = run(ids)

    pieces, done = [], 0
    for size in (100, 1, 155, 1, 1, 42):  # past the first capacity of the cache
        pieces.append(run(ids[done : done + size], cache=cache, prefix=done))
        done += size

    assert torch.allclose(torch.cat([p.logits for p in pieces], 1), whole.logits, atol=1e-5)
    assert torch.allclose(torch.cat([p.features for p in pieces], 1), whole.features, atol=1e-5)


@pytest.mark.parametrize("slots", [[0, 1, 2], [2, 0, 3]])
def test_a_batch_gives_what_single_requests_give(slots):
    prefixes = [9, 30, 1]
    cache = TARGET.new_cache(4)
    histories = [tokens(prefix, seed=prefix) for prefix in prefixes]
    windows = torch.stack([tokens(5, seed=50 + i) for i in range(3)])
    for slot, history in zip(slots, histories, strict=True):
        run(history, slot=slot, cache=cache)

    output = TARGET.forward(
        windows,
        torch.tensor(prefixes)[:, None] + torch.arange(5),
        cache=cache,
        slots=torch.tensor(slots),
        prefix_lens=torch.tensor(prefixes),
    )

    for row, history in enumerate(histories):
        alone = run(torch.cat((history, windows[row])))
        assert torch.allclose(output.logits[row], alone.logits[0, len(history) :], atol=1e-5)


def test_every_tree_node_sees_its_own_path_only():
    history = tokens(11, seed=2)
    parents = [-1, 0, 0, 1, 1, 2, 5, 3]
    nodes = tokens(len(parents), seed=3)
    paths, mask = [], torch.zeros(1, len(parents), len(parents), dtype=torch.bool)
    for node, parent in enumerate(parents):
        paths.append([*(paths[parent] if parent >= 0 else []), node])
        mask[0, node, paths[-1]] = True
    cache = TARGET.new_cache(1)
    run(history, cache=cache)

    output = TARGET.forward(
        nodes[None],
        torch.tensor([[len(history) + len(path) - 1 for path in paths]]),
        cache=cache,
        slots=torch.tensor([0]),
        prefix_lens=torch.tensor([len(history)]),
        window_mask=mask,
    )

    for node, path in enumerate(paths):
        logits, _ = oracle([*history.tolist(), *nodes[path].tolist()])
        assert close(output.logits[0, node], logits[-1])


def test_an_accepted_path_moved_to_the_front_is_the_sequence_itself():
    history, nodes = tokens(6, seed=4), tokens(6, seed=5)
    parents, accepted = [-1, 0, 0, 2, 2, 4], [0, 2, 4, 5]
    mask = torch.eye(6, dtype=torch.bool)[None].clone()
    depth = [0] * 6
    for node in range(1, 6):
        mask[0, node] |= mask[0, parents[node]]
        depth[node] = depth[parents[node]] + 1
    cache = TARGET.new_cache(1)
    run(history, cache=cache)
    TARGET.forward(
        nodes[None],
        6 + torch.tensor([depth]),
        cache=cache,
        slots=torch.tensor([0]),
        prefix_lens=torch.tensor([6]),
        window_mask=mask,
    )

    cache.move(0, 6 + torch.tensor(accepted), 6 + torch.arange(4))
    after = run(tokens(1, seed=6), cache=cache, prefix=10)

    plain = run(torch.cat((history, nodes[accepted], tokens(1, seed=6))))
    assert torch.allclose(after.logits[0, 0], plain.logits[0, -1], atol=1e-5)


def test_dead_rows_of_a_padded_window_change_nothing():
    ids = tokens(9, seed=7)
    cache = TARGET.new_cache(1)

    padded = run(torch.cat((ids, tokens(5, seed=8))), cache=cache)
    later = run(tokens(2, seed=9), cache=cache, prefix=9)

    plain = run(torch.cat((ids, tokens(2, seed=9))))
    assert torch.allclose(padded.logits[0, :9], plain.logits[0, :9], atol=1e-5)
    assert torch.allclose(later.logits[0], plain.logits[0, 9:], atol=1e-5)


def test_logits_come_for_one_row_or_not_at_all_when_asked():
    ids = tokens(9, seed=7)
    whole = run(ids).logits

    one = run(ids, logit_rows=torch.tensor([4])).logits
    none = run(ids, want_logits=False).logits

    assert torch.allclose(one, whole[:, 4:5], atol=1e-6)
    assert none.shape == (1, 0, 90)


def test_a_tied_head_is_the_embedding():
    config = TargetConfig(90, 1, SHAPE, 10_000.0, 64, 0, tied_head=True)

    target = Target.random(config, seed=0)

    assert "lm_head.weight" not in config.tensors()
    ids = torch.arange(90)
    assert torch.equal(target.head(target.embed(ids)), target.embed(ids) @ target.embed(ids).T)
