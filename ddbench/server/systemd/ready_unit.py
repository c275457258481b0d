"""Waiting for the server in a unit, whoever wrote the unit."""

from pathlib import Path

from ddbench.server.ports import base_url
from ddbench.server.readiness import wait_until_ready
from ddbench.server.systemd.commands import Scope
from ddbench.server.systemd.why import why_ended


def require_not_ended(scope: Scope, unit: str, log_path: Path) -> None:
    """Raises what the unit says of its end, UnitEnded or ServerExitedEarly."""
    if (error := why_ended(scope, unit, log_path)) is not None:
        raise error


def url_when_ready(
    scope: Scope,
    unit: str,
    *,
    host: str,
    port: int,
    log_path: Path,
    expected_model: str | None,
    timeout_s: float,
) -> str:
    """The server's base URL, once it answers there and serves `expected_model`.

    Raises as require_not_ended, and ServerNotReady.
    """
    url = base_url(host, port)
    wait_until_ready(
        lambda: require_not_ended(scope, unit, log_path),
        url,
        expected_model=expected_model,
        log_path=log_path,
        timeout_s=timeout_s,
    )
    return url
