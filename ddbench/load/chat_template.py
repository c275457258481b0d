"""Conversations into the text that the model reads, with the server's own chat template.

/generate applies none: a chat model that gets a bare question goes on with the question. The
template is read where the server has it, so ddbench and the server must see the same files.

Source: transformers' apply_chat_template, for whose environment and variables templates are made.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox

from ddbench.errors import PromptError
from ddbench.load.dialogue import get_json, read_api_key
from ddbench.load.openai import thinking_arguments
from ddbench.records import LoadConfig, Prompt

ROLES_OF_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token")


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """A chat template, and the special tokens that it may name.

    adds_bos: the tokenizer puts the first of them before every text, so the rendered one must not.
    """

    source: str
    tokens: Mapping[str, str] = field(default_factory=dict)
    adds_bos: bool = False

    @property
    def sha256(self) -> str:
        return sha256(self.source.encode()).hexdigest()

    def renderer(self, *, thinking: bool | None) -> Callable[[Prompt], str]:
        """A function from a prompt's messages to the text that ends where the answer begins.

        Both raise PromptError: this one for a template that cannot be read, the function for
        messages that the template refuses.
        """
        try:
            template = _environment().from_string(self.source)
        except jinja2.TemplateError as cause:
            raise PromptError(
                f"the server's chat template cannot be read: {cause}",
                remedy="Write `route: chat` in `load`: the server then renders the messages.",
            ) from cause
        told = {} if thinking is None else thinking_arguments(thinking)
        bos = self.tokens.get("bos_token", "")

        def render(prompt: Prompt) -> str:
            messages = [{"role": role, "content": text} for role, text in prompt.messages]
            try:
                text = template.render(
                    messages=messages,
                    tools=None,
                    documents=None,
                    add_generation_prompt=True,
                    **self.tokens,
                    **told,
                )
            except (jinja2.TemplateError, TypeError, ValueError) as cause:
                raise PromptError(
                    f"the server's chat template refuses {prompt.prompt_id}: {cause}",
                    remedy="Change its messages: some templates know no system role, or want "
                    "turns in alternation.",
                ) from cause
            return text.removeprefix(bos) if bos and self.adds_bos else text

        return render


def ready_to_send(base_url: str, prompts: Sequence[Prompt], load: LoadConfig) -> list[Prompt]:
    """The prompts as `load.route` takes them: conversations become text, but for the chat route.

    Raises:
        PromptError: there are conversations, and the server's chat template is not to be had.
        LoadError, ServerError: the server does not say where it is.
    """
    if load.route == "chat" or not any(prompt.messages for prompt in prompts):
        return list(prompts)
    info = get_json(base_url, "/server_info", read_api_key(load))
    template = find_template(info if isinstance(info, dict) else {})
    render = template.renderer(thinking=load.thinking)
    return [replace(p, text=render(p)) if p.messages else p for p in prompts]


def find_template(info: Mapping[str, Any]) -> ChatTemplate:
    """The template of a server that says this of itself (/server_info).

    Its own `--chat-template` if it has one, else what stands beside its tokenizer.
    Raises PromptError when that is not on this machine, or there is none.
    """
    told = info.get("tokenizer_path") or info.get("model_path")
    folder = model_folder(str(told)) if told else None
    config = _read_config(folder / "tokenizer_config.json") if folder is not None else {}
    tokens = {
        role: text
        for role in ROLES_OF_TOKENS
        if (text := _token_text(config.get(role))) is not None
    }
    source = _source(info.get("chat_template"), folder, config)
    if source is None:
        where = f"{told} is no folder on this machine" if folder is None else f"{folder} has none"
        raise PromptError(
            f"the prompts are conversations, and the server's chat template is not known: {where}",
            remedy="Write `route: chat` in `load`: the server then renders the messages.",
        )
    return ChatTemplate(source, tokens, folder is not None and _adds_bos(folder, config))


def model_folder(path: str, environment: Mapping[str, str] = os.environ) -> Path | None:
    """A model's folder on this machine: `path` itself, or the hub's copy of that name."""
    folder = Path(path).expanduser()
    if folder.is_dir():
        return folder
    home = Path(environment.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    hub = Path(environment.get("HF_HUB_CACHE") or home / "hub")
    cached = hub / f"models--{path.replace('/', '--')}"
    reference = cached / "refs" / "main"
    if reference.is_file():
        snapshot = cached / "snapshots" / reference.read_text().strip()
        if snapshot.is_dir():
            return snapshot
    return None


def _source(asked: object, folder: Path | None, config: Mapping[str, Any]) -> str | None:
    """The text of the template; `asked` is the server's own argument: a path or a built-in name."""
    if asked:
        path = Path(str(asked))
        if path.is_file() and path.suffix != ".json":
            return path.read_text(encoding="utf-8")
        raise PromptError(
            f"the server uses the chat template {asked}, which is no Jinja file on this machine",
            remedy="Write `route: chat` in `load`: the server then renders the messages.",
        )
    if folder is None:
        return None
    if (beside := folder / "chat_template.jinja").is_file():
        return beside.read_text(encoding="utf-8")
    older = _read_config(folder / "chat_template.json").get("chat_template")
    template = config.get("chat_template") or older
    if isinstance(template, list):  # several, by name
        named = {t.get("name"): t.get("template") for t in template if isinstance(t, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None


def _read_config(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as cause:
        raise PromptError(f"{path} is not JSON", remedy="Repair the model's folder.") from cause
    return config if isinstance(config, dict) else {}


def _token_text(token: object) -> str | None:
    """A special token, as a text or as an object around it."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _adds_bos(folder: Path, config: Mapping[str, Any]) -> bool:
    if config.get("add_bos_token") is True:
        return True
    processor = _read_config(folder / "tokenizer.json").get("post_processor")
    steps = [processor] if isinstance(processor, dict) else []
    steps += [step for one in list(steps) for step in one.get("processors", [])]
    return any(
        step.get("type") == "TemplateProcessing"
        and "SpecialToken" in (step.get("single") or [{}])[0]
        for step in steps
    )


class _Generation(jinja2.ext.Extension):
    """`{% generation %}`: marks what the assistant said, for training; here it changes nothing."""

    tags = {"generation"}  # noqa: RUF012  (jinja2's own class attribute)

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> jinja2.sandbox.ImmutableSandboxedEnvironment:
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    return environment


def _to_json(value: object, ensure_ascii: bool = False, **how: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **how)


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _now(pattern: str) -> str:
    return datetime.now().strftime(pattern)
