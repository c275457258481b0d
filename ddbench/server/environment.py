"""Where a server ran: a fingerprint from many small probes, each of which may fail alone."""

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace

from ddbench.errors import ServerError
from ddbench.records import Environment, ServerCommand, ServerConfig
from ddbench.server.counters import read_server_info
from ddbench.server.probes import (
    embedded_engine,
    gpu,
    host,
    server_said,
    sglang_package,
    variables,
    weights,
)
from ddbench.server.probes.probe import NotKnown, Subject
from ddbench.server.redact import redact, redact_mapping, secret_values

Probe = Callable[[Subject], dict[str, str]]

_EVERYWHERE: Mapping[str, Probe] = {
    "ddbench": host.ddbench_version,
    "operating system": host.operating_system,
    "cpu": host.cpu,
    "gpu": gpu.gpus,
    "variables": variables.variables,
    "server version": server_said.version,
    "server model": server_said.model,
    "max running requests": server_said.max_running_requests,
    "server arguments": server_said.arguments,
    "internal state": server_said.internal_state,
    "target": weights.target,
    "drafter": weights.drafter,
    "tokenizer": weights.tokenizer,
    "chat template": weights.chat_template,
}
_DECISIVE = (
    "ddbench", "cpu", "gpu", "variables", "target", "drafter", "tokenizer", "chat template",
)  # fmt: skip
_PASSING = (".sm_clock_mhz", ".uuid")
"""A clock that idles is none that a resumed sweep would find again."""

_BY_ENGINE: Mapping[str, Mapping[str, Probe]] = {
    "embedded": {"packages": embedded_engine.packages},
    "sglang": {"packages": sglang_package.package, "git checkout": sglang_package.git_checkout},
    "attach": {},
}


def probe_environment(
    base_url: str | None,
    config: ServerConfig,
    *,
    env: Mapping[str, str] | None = None,
    api_key: str | None = None,
) -> Environment:
    """Facts by name, and the probes that had no answer with the reason. Never raises for a probe.

    base_url: a server that answers, or None for one that never did. env: the variables that its
    command adds to ours (ServerCommand.env); without it, those of the sweep file.
    """
    info = None
    unknown: dict[str, str] = {}
    if base_url is not None:
        try:
            info = read_server_info(base_url, api_key=api_key)
        except ServerError as error:
            unknown["server"] = str(error)
    added = dict(config.env) if env is None else dict(env)
    subject = Subject(config=config, info=info, env={**os.environ, **added})
    found = _ask_all({**_EVERYWHERE, **_BY_ENGINE[config.engine]}, subject)
    return replace(found, unknown={**unknown, **found.unknown})


def identify(config: ServerConfig, command: ServerCommand | None) -> dict[str, str]:
    """What of the machine, the packages and the files decides a result, known before a launch.

    Part of every trial's key: a result is not taken for one of other weights or another kind of
    GPU. A fact that cannot be found out is absent, and so is one of a moment or of a single card.
    """
    info: dict[str, str | None] = {}
    env: Mapping[str, str] = dict(config.env)
    if command is not None:
        env = command.env
        info = {
            "model_path": command.model_path,
            "tokenizer_path": command.model_path,
            "speculative_draft_model_path": command.draft_model_path,
        }
    probes = {**{name: _EVERYWHERE[name] for name in _DECISIVE}, **_BY_ENGINE[config.engine]}
    facts = _ask_all(probes, Subject(config, info, {**os.environ, **env})).facts
    return {name: value for name, value in facts.items() if not name.endswith(_PASSING)}


def _ask_all(probes: Mapping[str, Probe], subject: Subject) -> Environment:
    facts: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for name, probe in probes.items():
        try:
            facts |= probe(subject)
        except (NotKnown, OSError, ValueError, subprocess.TimeoutExpired) as cause:
            unknown[name] = redact(f"{cause}" or type(cause).__name__)
    return Environment(facts=redact_mapping(facts, secret_values()), unknown=unknown)
