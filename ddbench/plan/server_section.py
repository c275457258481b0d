"""The `server` section of a sweep file: what every arm's server has in common."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ddbench.plan.launcher_section import read_launcher
from ddbench.plan.marked_yaml import Marked
from ddbench.plan.process_settings import Dialect, read_dialect, read_env, read_flags
from ddbench.records import Engine, FlagValue, Launcher

ENGINES = ("embedded", "sglang", "attach")

KEYS = (
    "engine",
    "model",
    "draft_model",
    "python",
    "launcher",
    "host",
    "port",
    "base_url",
    "patches",
    "flags",
    "env",
    "dialect",
    "ready_timeout_s",
)

DEFAULT_MODEL = "builtin"


@dataclass(frozen=True, slots=True)
class ServerSection:
    engine: Engine
    model: str
    draft_model: str | None
    python: str | None
    launcher: Launcher
    launcher_options: tuple[tuple[str, str], ...]
    host: str
    port: int | None
    base_url: str | None
    patches: str | None
    flags: Mapping[str, FlagValue]
    env: Mapping[str, str]
    dialect: Dialect
    ready_timeout_s: float


def read_server_section(node: Marked, environment: Mapping[str, str]) -> ServerSection:
    """The section, with $DDBENCH_SGLANG_PYTHON where it names no interpreter."""
    entries = node.mapping(known=KEYS)
    given = {name: value for name, value in entries.items() if not value.is_null()}
    engine = cast(Engine, given["engine"].one_of(ENGINES)) if "engine" in given else "embedded"
    _require_attach_or_launch(node, given, engine)
    if engine == "sglang" and "model" not in given:
        raise node.error(
            "engine: sglang needs a model",
            remedy="Add `model:` with a path, a hub name, or `builtin` for the shipped tiny pair.",
        )
    launcher, options = read_launcher(given.get("launcher"))
    python = given["python"].text() if "python" in given else None
    if engine == "sglang" and python is None:
        python = environment.get("DDBENCH_SGLANG_PYTHON") or None
    served_elsewhere = "as served" if engine == "attach" else DEFAULT_MODEL
    return ServerSection(
        engine=engine,
        model=given["model"].text() if "model" in given else served_elsewhere,
        draft_model=given["draft_model"].text() if "draft_model" in given else None,
        python=python,
        launcher=launcher,
        launcher_options=options,
        host=given["host"].text() if "host" in given else "127.0.0.1",
        port=_port(given["port"]) if "port" in given else None,
        base_url=_base_url(given["base_url"]) if "base_url" in given else None,
        patches=given["patches"].text() if "patches" in given else None,
        flags=read_flags(given["flags"]) if "flags" in given else {},
        env=read_env(given["env"]) if "env" in given else {},
        dialect=read_dialect(given["dialect"]) if "dialect" in given else (),
        ready_timeout_s=_timeout(given["ready_timeout_s"]) if "ready_timeout_s" in given else 900.0,
    )


def _require_attach_or_launch(node: Marked, given: Mapping[str, Marked], engine: Engine) -> None:
    """An attached server needs its address and takes nothing that would start it."""
    if engine == "attach" and "base_url" not in given:
        raise node.error(
            "engine: attach needs the address of the server",
            remedy="Add `base_url: http://HOST:PORT`.",
        )
    if engine == "attach":
        starting = ("python", "launcher", "host", "port", "patches", "flags", "env", "dialect")
        if useless := [given[name] for name in starting if name in given]:
            raise useless[0].error(
                "an attached server is run by someone else, so this would do nothing",
                remedy="Remove it, or choose another engine.",
            )
    elif "base_url" in given:
        raise given["base_url"].error(
            f"engine: {engine} starts its own server, at an address of its own",
            remedy="Remove it, or set engine: attach.",
        )
    if engine != "sglang" and "python" in given:
        raise given["python"].error(
            f"engine: {engine} does not use another interpreter",
            remedy="Remove it, or set engine: sglang.",
        )


def _port(node: Marked) -> int:
    port = node.integer(at_least=1)
    if port > 65535:
        raise node.error(f"{port} is not a port", remedy="Write a number from 1 to 65535, or null.")
    return port


def _base_url(node: Marked) -> str:
    url = node.text()
    if not url.startswith(("http://", "https://")):
        raise node.error(
            f"{url!r} is not an HTTP address", remedy="Write http://HOST:PORT, or https."
        )
    if "@" in url:
        raise node.error(
            "a secret does not belong in a sweep file, which is stored with every run",
            remedy="Remove user and password from the address.",
        )
    return url.rstrip("/")


def _timeout(node: Marked) -> float:
    return node.number(at_least=1.0)
