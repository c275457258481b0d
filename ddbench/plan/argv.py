"""From a server config to the command that starts it. The only place with SGLang's flag names."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ddbench.errors import PlanError
from ddbench.plan.drafter_files import drafter_folder, model_folder
from ddbench.plan.sglang_cpu import cpu_setup, needs_cpu_setup
from ddbench.records import FlagValue, ServerCommand, ServerConfig, Speculation

SETTINGS = ("block_size", "budget", "topk")
"""The settings of an arm that a flag or a variable of the server carries."""

_BLOCK_SIZE = {"block_size": ("flag", "speculative-dflash-block-size")}
SPELLINGS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "DFLASH": _BLOCK_SIZE,
    "DDTREE": {
        **_BLOCK_SIZE,
        "budget": ("flag", "speculative-ddtree-budget"),
        "topk": ("flag", "speculative-ddtree-topk"),
    },
}
"""Algorithm -> setting -> ("flag" | "env", name). A sweep's `dialect` replaces single settings."""

DRAFTER_FREE = frozenset({"NGRAM"})
"""Algorithms that draft from the text alone."""

EMBEDDED_ALGORITHMS = (None, "DFLASH", "DDTREE")

_COMMIT_ONE = {
    "SGLANG_SIMULATE_ACC_LEN": "1",
    "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
    "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
    "SGLANG_DFLASH_EAGER_DRAFT_SAMPLER": "1",
}
"""SGLang then keeps the target's own token of each step, and the drafter's head can be read."""

SET_ELSEWHERE = {
    "host": "server.host",
    "model": "server.model",
    "model-path": "server.model",
    "port": "server.port",
    "speculative-algorithm": "the arm",
    "speculative-draft-model": "draft_model",
    "speculative-draft-model-path": "draft_model",
}
"""Flags that ddbench writes itself, and where their value comes from in a sweep file."""


def server_command(
    config: ServerConfig,
    *,
    port: int,
    environment: Mapping[str, str] = os.environ,
    record_to: Path | None = None,
) -> ServerCommand:
    """The command line of `config` on `port`, with the variables it adds to `environment`.

    record_to: the file of a server that records drafts; it must not exist.
    The sweep file's own flags win over what ddbench would add. Raises PlanError for a config that
    has no command: an attached server, a launch without SGLang's interpreter.
    """
    if config.engine == "attach":
        raise PlanError(
            "an attached server is run by someone else and has no command line",
            remedy="Use engine: embedded or engine: sglang to let ddbench start a server.",
        )
    model_path = model_folder(config.model)
    flags: dict[str, FlagValue] = {
        "model-path": model_path,
        "host": config.host,
        "port": port,
        "max-running-requests": config.max_running_requests,
        "enable-metrics": True,
    }
    env: dict[str, str] = {}
    if config.speculation.algorithm is not None:
        flags["speculative-algorithm"] = config.speculation.algorithm
        if config.draft_model is not None:
            flags["speculative-draft-model-path"] = drafter_folder(config.draft_model)
        setting_flags, setting_env = _spelled(config)
        flags |= setting_flags
        env |= setting_env
    env |= dict(config.env)
    if needs_cpu_setup(config):
        cpu_flags, cpu_env = cpu_setup({**environment, **env})
        flags |= dict(cpu_flags)
        env = {**cpu_env, **env, "PYTHONPATH": cpu_env["PYTHONPATH"]}
    flags |= dict(config.flags)
    if record_to is not None and config.engine == "embedded":
        flags["record-drafts"] = str(record_to.absolute())
    elif record_to is not None:
        env |= {**_COMMIT_ONE, "DDBENCH_RECORD_DRAFTS": str(record_to.absolute())}
    draft_model_path = flags.get("speculative-draft-model-path")
    return ServerCommand(
        argv=(*_program(config), *_render(flags)),
        env=env,
        model_path=model_path,
        draft_model_path=None if draft_model_path is None else str(draft_model_path),
    )


def spelling(
    algorithm: str | None, dialect: tuple[tuple[str, str, str], ...]
) -> dict[str, tuple[str, str]]:
    """How `algorithm` is told each setting: setting -> ("flag" | "env", name)."""
    known = dict(SPELLINGS.get(algorithm, {})) if algorithm else {}
    return known | {
        setting: (kind, name) for setting, kind, name in dialect if kind in ("flag", "env")
    }


def _program(config: ServerConfig) -> tuple[str, ...]:
    if config.engine == "embedded":
        return sys.executable, "-m", "ddbench.engine"
    if config.python is None:
        raise PlanError(
            "engine: sglang needs the interpreter of an environment that has SGLang",
            remedy="Set $DDBENCH_SGLANG_PYTHON, or `python:` in the sweep file; "
            "`ddbench doctor --install-sglang-cpu DIR` makes such an environment.",
        )
    return config.python, "-m", "sglang.launch_server"


def _spelled(config: ServerConfig) -> tuple[dict[str, FlagValue], dict[str, str]]:
    names = spelling(config.speculation.algorithm, config.dialect)
    counting_root = {setting for setting, kind, _ in config.dialect if kind == "counts_root"}
    flags: dict[str, FlagValue] = {}
    env: dict[str, str] = {}
    for setting, value in _asked(config.speculation).items():
        kind, name = names[setting]
        told = value + (setting in counting_root)
        if kind == "flag":
            flags[name] = told
        else:
            env[name] = str(told)
    return flags, env


def _asked(speculation: Speculation) -> dict[str, int]:
    values = {setting: getattr(speculation, setting) for setting in SETTINGS}
    return {setting: value for setting, value in values.items() if value is not None}


def _render(flags: Mapping[str, FlagValue]) -> list[str]:
    argv: list[str] = []
    for name, value in flags.items():
        if value is False:
            continue
        argv.append(f"--{name}")
        if isinstance(value, tuple):
            argv += map(str, value)
        elif value is not True:
            argv.append(str(value))
    return argv
