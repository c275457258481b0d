"""What the server says of itself: version, resolved arguments, internal state."""

import json
from collections.abc import Mapping
from typing import Any

from ddbench.server.probes.probe import NotKnown, Subject
from ddbench.server.redact import REDACTED, is_secret_name, redact


def version(subject: Subject) -> dict[str, str]:
    return {"server.version": str(subject.told("version"))}


def model(subject: Subject) -> dict[str, str]:
    return {"server.model_path": redact(str(subject.told("model_path")))}


def max_running_requests(subject: Subject) -> dict[str, str]:
    """The resolved value: SGLang lowers what was asked when memory is short."""
    return {"server.max_running_requests": str(subject.told("max_running_requests"))}


def arguments(subject: Subject) -> dict[str, str]:
    """Every resolved argument, as one JSON object with sorted keys."""
    if subject.info is None:
        raise NotKnown("the server did not answer /server_info")
    given = {name: value for name, value in subject.info.items() if name != "internal_states"}
    return {"server.args": json.dumps(_without_secrets(given), sort_keys=True)}


def internal_state(subject: Subject) -> dict[str, str]:
    """What the first rank knows beyond its arguments: memory, captured graphs, start-up times."""
    states = subject.told("internal_states")
    if not isinstance(states, list) or not states or not isinstance(states[0], dict):
        raise NotKnown("/server_info has no internal state")
    given = subject.info or {}
    beyond = {name: value for name, value in states[0].items() if name not in given}
    return {"server.internal_state": json.dumps(_without_secrets(beyond), sort_keys=True)}


def _without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: REDACTED if value and is_secret_name(name) else _clean(value)
        for name, value in values.items()
    }


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return _without_secrets(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
