"""Start a server, ask it, end it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ddbench.errors import ServerError
from ddbench.load.closed_loop import run_closed_loop
from ddbench.patching.launch import with_patches
from ddbench.plan.argv import server_command
from ddbench.records import (
    LoadConfig,
    Prompt,
    RequestCompleted,
    RequestFailed,
    RequestOutcome,
    RunningServer,
    ServerConfig,
)
from ddbench.server.ports import free_port
from ddbench.server.running import running_server


@contextmanager
def started_server(
    config: ServerConfig, *, log_path: Path, env: Mapping[str, str] | None = None
) -> Iterator[RunningServer]:
    """The server of `config`; env: added to what its own command sets. Raises as running_server."""
    port = config.port or free_port(config.host)
    command = with_patches(server_command(config, port=port), config)
    command = replace(command, env={**command.env, **(env or {})})
    with running_server(
        command,
        host=config.host,
        port=port,
        log_path=log_path,
        expected_model=command.model_path,
        ready_timeout_s=config.ready_timeout_s,
    ) as server:
        yield server


def answers(
    config: ServerConfig,
    loads: Sequence[tuple[Sequence[Prompt], LoadConfig]],
    *,
    log_path: Path,
    env: Mapping[str, str] | None = None,
) -> list[tuple[RequestCompleted, ...]]:
    """Every prompt's answer, in the order of the prompts; one tuple for each of `loads`.

    env: faults are planted this way. Raises as ask does.
    """
    with started_server(config, log_path=log_path, env=env) as server:
        return [ask(server, prompts, load) for prompts, load in loads]


def ask(
    server: RunningServer, prompts: Sequence[Prompt], load: LoadConfig
) -> tuple[RequestCompleted, ...]:
    """Raises ServerError when a request failed."""
    outcome = run_closed_loop(server.base_url, prompts, load)
    return _completed(outcome.requests, server.log_path)


def _completed(
    requests: Sequence[RequestOutcome], log_path: Path | None
) -> tuple[RequestCompleted, ...]:
    failed = [request for request in requests if isinstance(request, RequestFailed)]
    if failed:
        raise ServerError(
            f"{len(failed)} of {len(requests)} requests failed, the first one with: "
            f"{failed[0].reason}",
            remedy=f"Read {log_path}.",
        )
    return tuple(request for request in requests if isinstance(request, RequestCompleted))
