"""What a host says of itself. Runs there, in a Ray task; nothing is raised across."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ddbench.errors import DdbenchError, PlanError, ServerError
from ddbench.executors.local import identity
from ddbench.executors.on_ray.scratch import clear
from ddbench.executors.on_ray.values import Refused
from ddbench.records import ServerConfig
from ddbench.server.doctor.capability import Capability
from ddbench.server.doctor.examine import examine
from ddbench.server.ports import require_free

Identity = Mapping[str, str]

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


@contextmanager
def _own_environment() -> Iterator[None]:
    """Without the variables that Ray adds for one task, so that a host is the same every time."""
    kept = dict(os.environ)
    parts = os.environ.get("PYTHONPATH", "").split(":")
    path = ":".join(part for part in parts if part and _OF_RAY not in part)
    for name in ("PYTHONPATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"):
        os.environ.pop(name, None)
    if path:
        os.environ["PYTHONPATH"] = path
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
