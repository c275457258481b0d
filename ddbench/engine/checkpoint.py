"""The model pair on disk: Hugging Face layout, as SGLang 0.5.23 loads it.

A target folder holds config.json (Qwen3ForCausalLM), generation_config.json, model.safetensors,
tokenizer.json and tokenizer_config.json; a drafter folder the same (DFlashDraftModel, no embedding
and no head). Weights are stored as bfloat16 and computed in float32.

Source: transformers Qwen3Config; sglang/srt/speculative/dflash_utils.py parse_dflash_draft_config.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from ddbench.engine.drafter import Drafter, DrafterConfig
from ddbench.engine.qwen3_layer import LayerShape
from ddbench.engine.target import Target, TargetConfig
from ddbench.errors import ModelFilesError

WEIGHTS = Path(__file__).parent / "weights"
BUILTIN = {
    ("target", "builtin"): WEIGHTS / "target",
    ("drafter", "builtin"): WEIGHTS / "drafter",
    ("drafter", "builtin:undertrained"): WEIGHTS / "drafter-undertrained",
}
ARCHITECTURES = {"target": "Qwen3ForCausalLM", "drafter": "DFlashDraftModel"}
CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] | trim }}\n{% endfor %}"

Role = Literal["target", "drafter"]


def model_folder(name: str, role: Role = "target") -> Path:
    """Where `builtin`, `builtin:undertrained` (drafter only) or a path keeps its files.

    Raises ModelFilesError for an unknown builtin, or a folder without a config.json.
    """
    if name.startswith("builtin"):
        if (builtin := BUILTIN.get((role, name))) is None:
            known = ", ".join(key for kind, key in BUILTIN if kind == role)
            raise ModelFilesError(
                f"there is no {role} called {name!r}", remedy=f"Use {known}, or a folder."
            )
        return builtin
    folder = Path(name)
    if not (folder / "config.json").is_file():
        raise ModelFilesError(
            f"{folder} is not a model folder: it has no config.json",
            remedy="Give a folder in Hugging Face layout, or `builtin`.",
        )
    return folder


def load_target(folder: Path) -> Target:
    """Raises ModelFilesError when files are missing, broken, or not a plain Qwen3 model."""
    config = target_config(folder)
    return Target(config, _read_weights(folder, config.tensors()))


def load_drafter(folder: Path, target: Target) -> Drafter:
    """Raises ModelFilesError also when the drafter was not made for this target."""
    config = drafter_config(folder)
    for what, mine, theirs in (
        ("hidden size", config.layer.hidden_size, target.config.layer.hidden_size),
        ("vocabulary size", config.vocab_size, target.config.vocab_size),
        ("number of target layers", config.target_layers, target.config.layers),
    ):
        if mine != theirs:
            raise ModelFilesError(
                f"the drafter in {folder} has {what} {mine}, the target {theirs}",
                remedy="Use a drafter that was trained on this target.",
            )
    return Drafter(target, config, _read_weights(folder, config.tensors()))


def load_tokenizer(folder: Path) -> Tokenizer:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelFilesError(f"{path} is missing", remedy="Copy the model's tokenizer there.")
    return Tokenizer.from_file(str(path))


def chat_template(folder: Path) -> str:
    """The Jinja template of tokenizer_config.json."""
    template = _read_json(folder / "tokenizer_config.json").get("chat_template")
    if not isinstance(template, str):
        raise ModelFilesError(
            f"{folder / 'tokenizer_config.json'} has no chat_template",
            remedy="Add one, or use /v1/completions and /generate.",
        )
    return template


def target_config(folder: Path) -> TargetConfig:
    path = folder / "config.json"
    raw = _read_config(path, "target")
    return TargetConfig(
        vocab_size=_integer(raw, "vocab_size", path),
        layers=_integer(raw, "num_hidden_layers", path),
        layer=_layer_shape(raw, path),
        rope_theta=_rope_theta(raw, path),
        max_positions=_integer(raw, "max_position_embeddings", path),
        eos_token_id=_integer(raw, "eos_token_id", path),
        tied_head=bool(raw.get("tie_word_embeddings", False)),
    )


def drafter_config(folder: Path) -> DrafterConfig:
    path = folder / "config.json"
    raw = _read_config(path, "drafter")
    nested = raw.get("dflash_config", {})
    layer_ids = nested.get("target_layer_ids")
    config = DrafterConfig(
        vocab_size=_integer(raw, "vocab_size", path),
        layers=_integer(raw, "num_hidden_layers", path),
        layer=_layer_shape(raw, path),
        rope_theta=_rope_theta(raw, path),
        max_positions=_integer(raw, "max_position_embeddings", path),
        block_size=_integer(raw, "block_size", path),
        mask_token_id=_integer(nested, "mask_token_id", path),
        target_layer_ids=tuple(layer_ids) if isinstance(layer_ids, list) else (),
        target_layers=_integer(raw, "num_target_layers", path),
    )
    if config.block_size < 2:
        raise _incompatible(path, f"block_size {config.block_size} drafts nothing")
    if not 0 <= config.mask_token_id < config.vocab_size:
        raise _incompatible(path, f"mask_token_id {config.mask_token_id} is no token")
    # The output of the last layer is out of reach: SGLang captures before the next layer.
    if not layer_ids or not all(0 <= i < config.target_layers - 1 for i in layer_ids):
        raise _incompatible(
            path, f"target_layer_ids {layer_ids} must name layers before the last of the target"
        )
    return config


def save_target(
    folder: Path, config: TargetConfig, weights: Mapping[str, Tensor], tokenizer: Tokenizer
) -> None:
    """Write a target folder; weights are rounded to bfloat16."""
    _save(folder, config.tensors(), weights, tokenizer, config.eos_token_id)
    _write_json(
        folder / "config.json",
        {
            "architectures": [ARCHITECTURES["target"]],
            **_shared_keys(config),
            "eos_token_id": config.eos_token_id,
            "tie_word_embeddings": config.tied_head,
        },
    )
    _write_json(
        folder / "generation_config.json",
        {"eos_token_id": config.eos_token_id, "do_sample": False},
    )


def save_drafter(
    folder: Path,
    config: DrafterConfig,
    weights: Mapping[str, Tensor],
    tokenizer: Tokenizer,
    *,
    eos_token_id: int,
) -> None:
    """Write a drafter folder; weights are rounded to bfloat16."""
    _save(folder, config.tensors(), weights, tokenizer, eos_token_id)
    _write_json(
        folder / "config.json",
        {
            "architectures": [ARCHITECTURES["drafter"]],
            **_shared_keys(config),
            "eos_token_id": eos_token_id,
            "tie_word_embeddings": False,
            "block_size": config.block_size,
            "num_target_layers": config.target_layers,
            "dflash_config": {
                "mask_token_id": config.mask_token_id,
                "target_layer_ids": list(config.target_layer_ids),
            },
        },
    )


def _shared_keys(config: TargetConfig | DrafterConfig) -> dict[str, Any]:
    layer = config.layer
    return {
        "model_type": "qwen3",
        "num_hidden_layers": config.layers,
        "vocab_size": config.vocab_size,
        "hidden_size": layer.hidden_size,
        "intermediate_size": layer.intermediate_size,
        "num_attention_heads": layer.attention_heads,
        "num_key_value_heads": layer.kv_heads,
        "head_dim": layer.head_dim,
        "rms_norm_eps": layer.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "max_position_embeddings": config.max_positions,
        "hidden_act": "silu",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "use_sliding_window": False,
        "sliding_window": None,
        "max_window_layers": config.layers,
        "initializer_range": 0.02,
        "bos_token_id": None,
        "use_cache": True,
        "torch_dtype": "bfloat16",
    }


def _save(
    folder: Path,
    shapes: Mapping[str, tuple[int, ...]],
    weights: Mapping[str, Tensor],
    tokenizer: Tokenizer,
    eos_token_id: int,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stored = {name: weights[name].to(torch.bfloat16).contiguous() for name in shapes}
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # safetensors writes for the owner alone
    tokenizer.save(str(folder / "tokenizer.json"))
    eos = tokenizer.id_to_token(eos_token_id)
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": eos,
            "pad_token": eos,
            "model_max_length": 4096,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT_TEMPLATE,
        },
    )


def _read_weights(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    path = folder / "model.safetensors"
    if not path.is_file():
        raise ModelFilesError(f"{path} is missing", remedy="Copy the weights there.")
    try:
        weights = load_file(path)
    except SafetensorError as cause:
        raise ModelFilesError(
            f"{path} is not a safetensors file: {cause}", remedy="Copy the weights again."
        ) from cause
    for name, shape in shapes.items():
        if name not in weights:
            raise _incompatible(path, f"weight {name} is missing")
        if tuple(weights[name].shape) != shape:
            raise _incompatible(
                path,
                f"weight {name} has shape {tuple(weights[name].shape)}, config.json says {shape}",
            )
    return weights


def _read_config(path: Path, role: Role) -> dict[str, Any]:
    raw = _read_json(path)
    architectures = raw.get("architectures")
    if architectures != [ARCHITECTURES[role]]:
        raise _incompatible(
            path, f"architectures is {architectures}, a {role} must be {ARCHITECTURES[role]}"
        )
    if raw.get("attention_bias") or raw.get("rope_scaling") or raw.get("use_sliding_window"):
        raise _incompatible(
            path, "attention bias, rope scaling and sliding windows are not supported"
        )
    return raw


def _read_json(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as cause:
        raise ModelFilesError(
            f"{path} is missing", remedy="Give a folder in Hugging Face layout, or `builtin`."
        ) from cause
    except ValueError as cause:
        raise _incompatible(path, f"not JSON ({cause})") from cause
    if not isinstance(raw, dict):
        raise _incompatible(path, "not a JSON object")
    return raw


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _layer_shape(raw: Mapping[str, Any], path: Path) -> LayerShape:
    shape = LayerShape(
        hidden_size=_integer(raw, "hidden_size", path),
        intermediate_size=_integer(raw, "intermediate_size", path),
        attention_heads=_integer(raw, "num_attention_heads", path),
        kv_heads=_integer(raw, "num_key_value_heads", path),
        head_dim=_integer(raw, "head_dim", path),
        rms_norm_eps=float(raw.get("rms_norm_eps", 1e-6)),
    )
    if shape.attention_heads % shape.kv_heads:
        raise _incompatible(
            path, f"{shape.attention_heads} heads do not share {shape.kv_heads} KV heads evenly"
        )
    return shape


def _rope_theta(raw: Mapping[str, Any], path: Path) -> float:
    theta = raw.get("rope_theta", raw.get("rope_parameters", {}).get("rope_theta"))
    if not isinstance(theta, int | float):
        raise _incompatible(path, "rope_theta is missing")
    return float(theta)


def _integer(raw: Mapping[str, Any], key: str, path: Path) -> int:
    value = raw.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _incompatible(path, f"{key} is {value!r}, want an integer")
    return value


def _incompatible(path: Path, reason: str) -> ModelFilesError:
    return ModelFilesError(
        f"{path}: {reason}", remedy="Use files in the layout of `builtin`, or `builtin` itself."
    )
