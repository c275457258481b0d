import json

import jinja2
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models

from ddbench.engine.checkpoint import (
    chat_template,
    drafter_config,
    load_drafter,
    load_target,
    load_tokenizer,
    model_folder,
    save_drafter,
    save_target,
    target_config,
)
from ddbench.engine.drafter import DrafterConfig
from ddbench.engine.qwen3_layer import LayerShape, random_tensors
from ddbench.engine.target import TargetConfig
from ddbench.errors import ModelFilesError

SHAPE = LayerShape(
    hidden_size=16,
    intermediate_size=24,
    attention_heads=2,
    kv_heads=1,
    head_dim=8,
    rms_norm_eps=1e-5,
)
TARGET = TargetConfig(20, 3, SHAPE, 5_000.0, 128, eos_token_id=2)
DRAFTER = DrafterConfig(20, 1, SHAPE, 5_000.0, 128, 4, 1, (0, 1), 3)


@pytest.fixture
def pair(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({f"w{i}": i for i in range(20)}, unk_token="w0"))
    save_target(tmp_path / "t", TARGET, random_tensors(TARGET.tensors(), 0), tokenizer)
    save_drafter(
        tmp_path / "d", DRAFTER, random_tensors(DRAFTER.tensors(), 1), tokenizer, eos_token_id=2
    )
    return tmp_path / "t", tmp_path / "d"


def edit(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_what_was_saved_is_loaded_rounded_to_bfloat16(pair):
    target_folder, drafter_folder = pair

    target = load_target(target_folder)
    drafter = load_drafter(drafter_folder, target)

    assert target.config == TARGET
    assert drafter.config == DRAFTER
    embedding = random_tensors(TARGET.tensors(), 0)["model.embed_tokens.weight"]
    assert torch.equal(target.embed(torch.arange(20)), embedding.bfloat16().float())
    assert load_tokenizer(target_folder).get_vocab_size() == 20


def test_the_folders_hold_what_sglang_reads(pair):
    target_folder, drafter_folder = pair

    target = json.loads((target_folder / "config.json").read_text())
    drafter = json.loads((drafter_folder / "config.json").read_text())

    assert target["architectures"] == ["Qwen3ForCausalLM"]
    assert drafter["architectures"] == ["DFlashDraftModel"]
    assert drafter["model_type"] == target["model_type"] == "qwen3"
    assert drafter["block_size"] == 4
    assert drafter["num_target_layers"] == 3
    assert drafter["dflash_config"] == {"mask_token_id": 1, "target_layer_ids": [0, 1]}
    assert target["eos_token_id"] == 2
    stored = load_file(drafter_folder / "model.safetensors")
    assert {tensor.dtype for tensor in stored.values()} == {torch.bfloat16}
    assert {"fc.weight", "hidden_norm.weight", "norm.weight"} < set(stored)
    assert all(name.startswith("layers.0.") or "." in name for name in stored)
    assert not any("embed" in name or "lm_head" in name for name in stored)


def test_the_chat_template_puts_each_message_on_its_lines(pair):
    template = jinja2.Template(chat_template(pair[0]))

    text = template.render(
        messages=[{"role": "user", "content": "How many?\n"}], add_generation_prompt=True
    )

    assert text == "How many?\n"


def test_builtin_names_have_their_own_folders():
    assert model_folder("builtin").name == "target"
    assert model_folder("builtin", "drafter").name == "drafter"
    assert model_folder("builtin:undertrained", "drafter").name == "drafter-undertrained"


@pytest.mark.parametrize("name", ["builtin:undertrained", "builtin:huge"])
def test_an_unknown_builtin_is_refused_with_those_there_are(name):
    with pytest.raises(ModelFilesError, match="no target called") as caught:
        model_folder(name)

    assert "Use builtin, or a folder" in caught.value.remedy


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(ModelFilesError, match=r"no config\.json"):
        model_folder(str(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architectures": ["LlamaForCausalLM"]}, "must be Qwen3ForCausalLM"),
        ({"vocab_size": "many"}, "vocab_size is 'many'"),
        ({"hidden_size": 32}, "has shape"),
        ({"num_hidden_layers": 4}, r"model\.layers\.3\S+ is missing"),
        ({"num_key_value_heads": 3}, "do not share"),
        ({"rope_scaling": {"type": "yarn"}}, "not supported"),
        ({"rope_theta": None}, "rope_theta is missing"),
    ],
)
def test_a_target_that_is_not_plain_qwen3_is_refused(pair, change, message):
    edit(pair[0], **change)

    with pytest.raises(ModelFilesError, match=message) as caught:
        load_target(pair[0])

    assert caught.value.remedy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block_size": 1}, "drafts nothing"),
        ({"num_target_layers": 5}, "number of target layers 5, the target 3"),
        ({"vocab_size": 30}, "vocabulary size 30, the target 20"),
        ({"dflash_config": {"mask_token_id": 20, "target_layer_ids": [0, 1]}}, "is no token"),
        ({"dflash_config": {"mask_token_id": 1, "target_layer_ids": [0, 2]}}, "before the last"),
        ({"dflash_config": {"mask_token_id": 1}}, "before the last"),
        ({"dflash_config": {"mask_token_id": 1, "target_layer_ids": [0]}}, "fc.weight has shape"),
    ],
)
def test_a_drafter_of_another_target_is_refused(pair, change, message):
    edit(pair[1], **change)

    with pytest.raises(ModelFilesError, match=message):
        load_drafter(pair[1], load_target(pair[0]))


def test_broken_or_missing_files_are_named(pair):
    target_folder, drafter_folder = pair
    (target_folder / "model.safetensors").write_bytes(b"not weights")
    (drafter_folder / "config.json").write_text("{")

    with pytest.raises(ModelFilesError, match=r"model\.safetensors is not a safetensors file"):
        load_target(target_folder)
    with pytest.raises(ModelFilesError, match="not JSON"):
        drafter_config(drafter_folder)
    (target_folder / "model.safetensors").unlink()
    (target_folder / "tokenizer.json").unlink()
    with pytest.raises(ModelFilesError, match=r"model\.safetensors is missing"):
        load_target(target_folder)
    with pytest.raises(ModelFilesError, match=r"tokenizer\.json is missing"):
        load_tokenizer(target_folder)


def test_newer_files_keep_the_rope_base_in_rope_parameters(pair):
    edit(pair[0], rope_theta=None, rope_parameters={"rope_theta": 123.0})
    path = pair[0] / "config.json"
    raw = json.loads(path.read_text())
    del raw["rope_theta"]
    path.write_text(json.dumps(raw))

    assert target_config(pair[0]).rope_theta == 123.0


def test_a_weight_of_the_wrong_shape_is_named(pair):
    path = pair[1] / "model.safetensors"
    weights = load_file(path)
    weights["norm.weight"] = torch.ones(3)
    save_file(weights, path)

    with pytest.raises(ModelFilesError, match=r"norm\.weight has shape \(3,\)"):
        load_drafter(pair[1], load_target(pair[0]))
