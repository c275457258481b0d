"""One entry of a prompt file, in each of the forms that people have.

    {"prompt": TEXT} or {"text": TEXT}          the model reads TEXT as it is
    {"messages": [{"role", "content"}, ...]}    a conversation, for the server's chat template
    {"turns": [TEXT, ...]}                      MT-bench, Spec-Bench: a conversation, its first turn
    {"body": {"messages" or "prompt": ...}}     OpenAI's batch files
    {"conversations": [...]}                    ShareGPT, SGLang's custom: the first human's text

`id` (`custom_id`, `question_id`) and `category` may stand beside each.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from ddbench.errors import PromptError
from ddbench.records import Prompt

ACCEPTED = (
    "Give each line a `prompt`, `text`, `messages` or `turns`, or use a ShareGPT or OpenAI batch "
    "file."
)

Messages = tuple[tuple[str, str], ...]

_IDS = ("id", "custom_id", "question_id")
_HUMANS = ("human", "user")


def prompt_of(entry: object, where: str) -> Prompt | None:
    """The prompt of one entry; None for a conversation without turns, of which ShareGPT has some.

    Raises PromptError, which names `where`.
    """
    if not isinstance(entry, dict):
        raise PromptError(f"{where} is not a JSON object", remedy=ACCEPTED)
    if entry.get("conversations") == []:
        return None
    text, messages = _said(entry, where)
    if not text.strip() and not any(content.strip() for _, content in messages):
        raise PromptError(f"{where} holds an empty prompt", remedy="Remove it.")
    own_id = next((entry[key] for key in _IDS if entry.get(key) is not None), None)
    category = entry.get("category")
    return Prompt(
        prompt_id=id_of(text, messages) if own_id is None else str(own_id),
        text=text,
        category=None if category is None else str(category),
        messages=messages,
    )


def id_of(text: str, messages: Messages = ()) -> str:
    """The id of a prompt that was given none."""
    said = orjson.dumps(messages) if messages else text.encode()
    return hashlib.sha256(said).hexdigest()[:16]


def _said(entry: Mapping[str, Any], where: str) -> tuple[str, Messages]:
    for key in ("prompt", "text"):
        if key in entry:
            if not isinstance(entry[key], str):
                raise PromptError(f"{where}: `{key}` is not a string", remedy=ACCEPTED)
            return entry[key], ()
    if "messages" in entry:
        return "", _messages(entry["messages"], where)
    if "turns" in entry:
        return "", (("user", _first_turn(entry["turns"], where)),)
    if isinstance(entry.get("body"), dict):
        return _said(entry["body"], f"{where}, body")
    for key in ("conversations", "conversation"):
        if key in entry:
            return _first_human_turn(entry[key], where), ()
    keys = ", ".join(map(str, entry)) or "nothing"
    raise PromptError(f"{where} has no prompt, only {keys}", remedy=ACCEPTED)


def _messages(listed: object, where: str) -> Messages:
    """Without what the assistant said last: that is for the server to say."""
    messages: list[tuple[str, str]] = []
    for message in listed if isinstance(listed, list) else []:
        role = message.get("role") if isinstance(message, dict) else None
        content = _content(message.get("content")) if isinstance(message, dict) else None
        if not isinstance(role, str) or content is None:
            raise PromptError(
                f"{where}: message {len(messages) + 1} is not a role with a text",
                remedy="Give every message a `role` and a `content` of text; images, audio and "
                "tool calls are not sent.",
            )
        messages.append((role, content))
    while messages and messages[-1][0] == "assistant":
        messages.pop()
    if not messages:
        raise PromptError(f"{where} has no message to answer", remedy="Remove the entry.")
    return tuple(messages)


def _content(content: object) -> str | None:
    """Text, or OpenAI's list of parts that are all text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [
        part["text"]
        for part in content
        if isinstance(part, dict)
        and part.get("type") in ("text", "input_text")
        and isinstance(part.get("text"), str)
    ]
    return "".join(texts) if len(texts) == len(content) else None


def _first_turn(turns: object, where: str) -> str:
    if isinstance(turns, list) and turns and isinstance(turns[0], str):
        return turns[0]
    raise PromptError(f"{where}: `turns` is not a list of texts", remedy=ACCEPTED)


def _first_human_turn(turns: object, where: str) -> str:
    listed = [turn for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    named = any("from" in turn or "role" in turn for turn in listed)
    for turn in listed:
        if not named or turn.get("from", turn.get("role")) in _HUMANS:
            value = turn.get("value", turn.get("content"))
            if isinstance(value, str):
                return value
    raise PromptError(f"{where} has no human turn in `conversations`", remedy="Remove the entry.")
