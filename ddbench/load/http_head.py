"""HTTP/1.1 heads: the one we send, and the one we read. Knows nothing of sockets.

Source: RFC 9112, sections 3 to 6.
"""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ddbench.errors import LoadError
from ddbench.load.bad_answer import BadAnswer, shown

HEAD_LIMIT_BYTES = 64 * 1024

_PORTS = {False: 80, True: 443}  # with TLS or without
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n]*)?")


@dataclass(frozen=True, slots=True)
class Target:
    """Where the server is. `prefix` is the path before its routes, without a slash at its end."""

    host: str
    port: int
    prefix: str = ""
    tls: bool = False

    @property
    def authority(self) -> str:
        """As a Host header has it; the scheme's own port is left out, as gateways expect."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.tls] else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """content_length is None when the body is chunked or ends with the connection."""

    status: int
    chunked: bool
    content_length: int | None
    keep_alive: bool


def read_target(base_url: str) -> Target:
    """Take a base URL apart.

    Raises:
        LoadError: it is not an http or https URL with a host.
    """
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError as cause:
        raise LoadError(
            f"{base_url!r} is not a base URL: {cause}",
            remedy="Write it like http://127.0.0.1:30000.",
        ) from cause
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise LoadError(
            f"{base_url!r} is not an http or https URL",
            remedy="Write it like http://127.0.0.1:30000 or https://gateway.example/prefix.",
        )
    tls = parts.scheme == "https"
    return Target(
        parts.hostname, _PORTS[tls] if port is None else port, parts.path.rstrip("/"), tls
    )


def post_bytes(target: Target, route: str, body: bytes, *, api_key: str | None = None) -> bytes:
    """A whole POST of a JSON body, head and all, ready to be written."""
    authorization = "" if api_key is None else f"Authorization: Bearer {api_key}\r\n"
    head = (
        f"POST {target.prefix}{route} HTTP/1.1\r\n"
        f"Host: {target.authority}\r\n"
        "Content-Type: application/json\r\n"
        "Accept: text/event-stream, application/json\r\n"
        f"{authorization}"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("latin-1") + body


def parse_head(raw: bytes) -> ResponseHead:
    """Read a response head, without the blank line that ends it.

    Raises:
        BadAnswer: it is not HTTP/1.x, or its framing cannot be followed.
    """
    first, *lines = raw.split(b"\r\n")
    status_line = _STATUS_LINE.fullmatch(first)
    if status_line is None:
        raise BadAnswer(f"the answer is not HTTP/1.x: {shown(first)!r}")
    fields: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            raise BadAnswer(f"a header without a colon: {shown(line)!r}")
        fields[name.strip().lower()] = value.strip()
    coding = fields.get(b"transfer-encoding", b"identity").lower()
    if coding not in (b"identity", b"chunked"):
        raise BadAnswer(f"transfer-encoding {shown(coding)!r} was not asked for")
    chunked = coding == b"chunked"
    length = fields.get(b"content-length")
    if length is not None and not length.isdigit():
        raise BadAnswer(f"content-length is {shown(length)!r}, not a number")
    connection = fields.get(b"connection", b"").lower()
    return ResponseHead(
        status=int(status_line[2]),
        chunked=chunked,
        content_length=None if chunked or length is None else int(length),
        keep_alive=connection != b"close"
        and (status_line[1] == b"1" or connection == b"keep-alive"),
    )
