"""How one load talks to its server: where, on which route, in whose name.

An API key comes from a variable of ddbench's own environment and goes into the head of a request,
nowhere else.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import requests

from ddbench.errors import LoadError, ServerError
from ddbench.load.answer import Answer
from ddbench.load.generate import ROUTE as GENERATE
from ddbench.load.generate import GenerateAnswer, generate_body
from ddbench.load.http_head import Target, read_target
from ddbench.load.openai import CHAT, COMPLETIONS, OpenAiAnswer, chat_body, completions_body
from ddbench.records import LoadConfig, Prompt
from ddbench.tls import direct_session

CONTROL_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Dialogue:
    target: Target
    path: str
    body: Callable[[Prompt, LoadConfig], bytes]
    answer: Callable[[], Answer]
    api_key: str | None = field(default=None, repr=False)


def open_dialogue(
    base_url: str, load: LoadConfig, environment: Mapping[str, str] = os.environ
) -> Dialogue:
    """The route that `load` asks for. OpenAI's routes want the model's name: it is asked for.

    Raises:
        LoadError: base_url is no http or https URL, the key's variable is empty, or the server does
            not list its models.
        ServerError: it does not answer when it is asked for them.
    """
    target = read_target(base_url)
    api_key = read_api_key(load, environment)
    if load.route == "generate":
        return Dialogue(target, GENERATE, generate_body, GenerateAnswer, api_key)
    model, is_sglang = _served_model(base_url, api_key)
    path, body = (
        (COMPLETIONS, completions_body) if load.route == "completions" else (CHAT, chat_body)
    )
    return Dialogue(
        target, path, partial(body, model=model, spec_details=is_sglang), OpenAiAnswer, api_key
    )


def read_api_key(load: LoadConfig, environment: Mapping[str, str] = os.environ) -> str | None:
    """The value of the variable that `load` names, None when it names none.

    Raises:
        LoadError: the variable is not set, or holds what no head of a request can carry.
    """
    if load.api_key_env is None:
        return None
    key = environment.get(load.api_key_env, "").strip()
    if not key:
        raise LoadError(
            f"the API key is to come from ${load.api_key_env}, which is not set",
            remedy=f"Run `export {load.api_key_env}=...` first.",
        )
    if not key.isascii() or not key.isprintable():
        raise LoadError(
            f"${load.api_key_env} holds a character that no API key has",
            remedy="Set it again, without line ends and quotes.",
        )
    return key


def get_json(base_url: str, route: str, api_key: str | None) -> object:
    """The JSON of a GET.

    Raises:
        ServerError: there is no answer, no JSON, or the server says that it failed.
        LoadError: it says anything else than 200: this cannot be asked of it.
    """
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    with direct_session() as session:
        try:
            answer = session.get(f"{base_url}{route}", headers=headers, timeout=CONTROL_TIMEOUT_S)
            if answer.status_code == 200:
                return answer.json()
        except requests.RequestException as cause:  # no JSON is one of them
            raise ServerError(
                f"no answer from {base_url}{route}: {type(cause).__name__}",
                remedy="Check that the server runs and offers this route.",
            ) from cause
    error = ServerError if answer.status_code >= 500 else LoadError
    raise error(
        f"{base_url}{route} answers {answer.status_code}",
        remedy="Check that the server offers this route, and `api_key_env` if it wants a key.",
    )


def _served_model(base_url: str, api_key: str | None) -> tuple[str, bool]:
    """The name of the first model, and whether the server is SGLang."""
    listed = get_json(base_url, "/v1/models", api_key)
    models = listed.get("data") if isinstance(listed, dict) else None
    first = models[0] if isinstance(models, list) and models else None
    if not isinstance(first, dict) or not isinstance(first.get("id"), str):
        raise LoadError(
            f"{base_url}/v1/models names no model",
            remedy="Check that an OpenAI-compatible server listens there.",
        )
    return first["id"], first.get("owned_by") == "sglang"
