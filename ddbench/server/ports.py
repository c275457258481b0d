"""Which ports are free, and the address at which a server on one of them answers."""

import errno
import socket

from ddbench.errors import PortInUse, ServerError

_ANY_ADDRESS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


def free_port(host: str) -> int:
    """A port that nobody listens on now; the system hands out another each time."""
    with _bound(host, 0) as probe:
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port


def require_free(host: str, port: int) -> None:
    """Raises PortInUse when something listens there, ServerError for an address we cannot use."""
    _bound(host, port).close()


def base_url(host: str, port: int) -> str:
    """Where a client on this machine reaches a server that listens on `host`."""
    reached = _ANY_ADDRESS.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def _bound(host: str, port: int) -> socket.socket:
    """A socket bound as servers bind theirs: a port in TIME_WAIT is free, a listener's is not."""
    try:
        ((family, kind, protocol, _, address), *_) = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except socket.gaierror as cause:
        raise ServerError(
            f"no address for host {host!r}: {cause.strerror}",
            remedy="Correct `host` in the sweep file; 127.0.0.1 is this machine.",
        ) from cause
    probe = socket.socket(family, kind, protocol)
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
    except OSError as cause:
        probe.close()
        if cause.errno == errno.EADDRINUSE:
            raise PortInUse(host, port) from cause
        raise ServerError(
            f"cannot listen on {host}:{port}: {cause.strerror}",
            remedy="Choose a `host` of this machine and a `port` above 1023 in the sweep file.",
        ) from cause
    return probe
