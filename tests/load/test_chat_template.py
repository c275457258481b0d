"""Templates as model makers write them. The expected texts are transformers' own (5.19)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddbench.errors import PromptError
from ddbench.load.chat_template import ChatTemplate, find_template
from ddbench.records import Prompt

CHATML = """\
{%- if tools %}{{ tools | tojson }}{%- endif %}
{%- for message in messages %}
    {%- if message.role not in ["system", "user", "assistant"] %}
        {{- raise_exception("no role " + message.role) }}
    {%- endif %}
    {{- "<|im_start|>" + message["role"] + "\\n" + message["content"] + "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|im_start|>assistant\\n" }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- "<think>\\n\\n</think>\\n\\n" }}
    {%- endif %}
{%- endif %}
"""
WITH_BOS = """\
{{ bos_token }}{% for message in messages %}
{% if loop.index0 > 8 %}{% break %}{% endif %}
[{{ message.role }}] {% generation %}{{ message.content | trim }}{% endgeneration %}{{ eos_token }}
{% endfor %}
{{ {"a": "<é>"} | tojson }}
"""
PROMPT = Prompt("p", "", messages=(("system", "Be brief."), ("user", "Grüße & <b>")))


def model(folder: Path, **config: Any) -> dict[str, Any]:
    """What a server says that serves a model of this tokenizer_config.json."""
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return {"model_path": "elsewhere", "tokenizer_path": str(folder)}


def render(template: ChatTemplate, prompt: Prompt = PROMPT, thinking: bool | None = None) -> str:
    return template.renderer(thinking=thinking)(prompt)


def test_a_conversation_ends_where_the_answer_begins(tmp_path: Path) -> None:
    template = find_template(model(tmp_path, chat_template=CHATML))

    assert render(template) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n"
        "<|im_start|>user\nGrüße & <b><|im_end|>\n"
        "<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("thinking", [None, True, False])
def test_thinking_is_told_to_the_template(thinking: bool | None, tmp_path: Path) -> None:
    template = find_template(model(tmp_path, chat_template=CHATML))

    assert ("</think>" in render(template, thinking=thinking)) == (thinking is False)


def test_special_tokens_blocks_and_filters_are_those_of_transformers(tmp_path: Path) -> None:
    eos = {"__type": "AddedToken", "content": "</s>"}
    template = find_template(
        model(tmp_path, chat_template=WITH_BOS, bos_token="<s>", eos_token=eos)
    )

    assert render(template) == ('<s>[system] Be brief.</s>\n[user] Grüße & <b></s>\n{"a": "<é>"}')


@pytest.mark.parametrize("how", ["config", "post processor"])
def test_a_tokenizer_that_adds_the_first_token_gets_a_text_without_it(
    how: str, tmp_path: Path
) -> None:
    info = model(tmp_path, chat_template=WITH_BOS, bos_token="<s>", add_bos_token=how == "config")
    if how == "post processor":
        step = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}]}
        processor = {"type": "Sequence", "processors": [{"type": "ByteLevel"}, step]}
        (tmp_path / "tokenizer.json").write_text(json.dumps({"post_processor": processor}))

    assert render(find_template(info)).startswith("[system]")


def test_the_servers_own_template_comes_first_then_the_file_then_the_config(
    tmp_path: Path,
) -> None:
    info = model(tmp_path, chat_template="config")
    assert find_template(info).source == "config"

    (tmp_path / "chat_template.jinja").write_text("file")
    assert find_template(info).source == "file"

    own = tmp_path / "own.jinja"
    own.write_text("own")
    assert find_template(info | {"chat_template": str(own)}).source == "own"


def test_one_of_several_templates_is_the_default(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]

    assert find_template(model(tmp_path, chat_template=named)).source == "d"


def test_a_template_is_known_by_its_hash(tmp_path: Path) -> None:
    template = find_template(model(tmp_path, chat_template=CHATML))

    assert len(template.sha256) == 64
    assert template.sha256 != replace(template, source=CHATML + " ").sha256


@pytest.mark.parametrize(
    ("info", "complaint"),
    [
        ({}, "is no folder on this machine"),
        ({"tokenizer_path": "org/none"}, "org/none is no folder on this machine"),
        ({"chat_template": "vicuna_v1.1"}, "vicuna_v1.1, which is no Jinja file"),
    ],
)
def test_a_template_that_is_not_here_names_the_chat_route(
    info: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(PromptError, match=complaint) as caught:
        find_template(info)

    assert "route: chat" in caught.value.remedy


def test_a_model_without_a_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="has none"):
        find_template(model(tmp_path))


def test_a_broken_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="cannot be read"):
        render(find_template(model(tmp_path, chat_template="{% if %}")))


def test_messages_that_the_template_refuses_are_named(tmp_path: Path) -> None:
    template = find_template(model(tmp_path, chat_template=CHATML))

    with pytest.raises(PromptError, match="refuses p: no role tool"):
        render(template, replace(PROMPT, messages=(("tool", "x"),)))


def test_a_template_cannot_reach_into_ddbench(tmp_path: Path) -> None:
    escape = "{{ messages.__class__.__mro__[1].__subclasses__() }}"

    with pytest.raises(PromptError, match="refuses p"):
        render(find_template(model(tmp_path, chat_template=escape)))
