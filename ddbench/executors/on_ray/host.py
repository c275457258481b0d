"""What a host says of itself. Runs there, in a Ray task; nothing is raised across."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ddbench.errors import DdbenchError, PlanError, ServerError
from ddbench.executors.local import identity
from ddbench.executors.on_ray.scratch import clear
from ddbench.executors.on_ray.values import Refused
from ddbench.records import ServerConfig
from ddbench.server.doctor.capability import Capability
from ddbench.server.doctor.examine import examine
from ddbench.server.ports import require_free

Identity = Mapping[str, str]

THREADS = "OMP_NUM_THREADS"
"""Ray sets it to the cores of a task, unless the host has it; a server here would not have it."""

_OF_RAY = "/runtime_resources/"  # where Ray keeps code that was sent; another at every start


def identities(servers: Sequence[ServerConfig]) -> list[Identity | Refused]:
    """Of each server what decides its results here; or why this host cannot run it."""
    with _own_environment():
        return [_identity(server) for server in servers]


def clear_scratch(run: str) -> list[int] | Refused:
    """As scratch.clear."""
    try:
        return clear(run)
    except DdbenchError as error:
        return Refused.of(error)


def capabilities(sglang_python: str | None) -> list[Capability]:
    """As `ddbench doctor` there."""
    with _own_environment():
        return examine(sglang_python or os.environ.get("DDBENCH_SGLANG_PYTHON") or None)


def _identity(server: ServerConfig) -> Identity | Refused:
    try:
        if server.engine == "sglang":
            _require_sglang(server)
        if server.port is not None and server.engine != "attach":
            require_free(server.host, server.port)
        return identity(server)
    except DdbenchError as error:
        return Refused.of(error)


def _require_sglang(server: ServerConfig) -> None:
    if server.python is None:
        raise PlanError(
            "no interpreter with SGLang is named",
            remedy="Write `python:` in the sweep file: the same path on every host.",
        )
    if shutil.which(server.python) is None:
        raise ServerError(
            f"there is no {server.python}, so no SGLang",
            remedy="Install SGLang at that path on the host, or correct `python:`.",
        )


def restore_variable(name: str) -> None:
    """As it was when this process started: Ray sets some afterwards."""
    entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    found = [entry for entry in entries if entry.startswith(f"{name}=".encode())]
    os.environ.pop(name, None)
    if found:
        os.environ[name] = os.fsdecode(found[0].partition(b"=")[2])


@contextmanager
def _own_environment() -> Iterator[None]:
    """Without what Ray sets for one task, so that a host is the same every time."""
    kept = dict(os.environ)
    for name in ("CUDA_VISIBLE_DEVICES", THREADS):
        restore_variable(name)
    parts = os.environ.pop("PYTHONPATH", "").split(":")
    if path := ":".join(part for part in parts if part and _OF_RAY not in part):
        os.environ["PYTHONPATH"] = path
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
