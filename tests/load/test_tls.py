"""An https server, behind a gateway whose certificate a private authority signed."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trustme

from ddbench.errors import ServerError, ServerUntrusted
from ddbench.load.dialogue import get_json
from ddbench.records import RequestCompleted, RequestFailed
from ddbench.server.http import ask as ask_server
from ddbench.server.running import attached_server


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[trustme.CA, Path]:
    ca = trustme.CA()
    path = tmp_path_factory.mktemp("tls") / "authority.pem"
    ca.cert_pem.write_to_path(path)
    return ca, path


@pytest.fixture
def gateway(
    authority: tuple[trustme.CA, Path], start: Callable[..., Any], rude_url: str, tmp_path: Path
) -> Callable[[str], Any]:
    """`with gateway(name) as url`: https on loopback, with a certificate for `name`."""

    def begin(name: str) -> Any:
        ca, _ = authority
        pem = tmp_path / "gateway.pem"
        ca.issue_cert(name).private_key_and_cert_chain_pem.write_to_path(pem)
        return start("tls_gateway.py", rude_url.rpartition(":")[2], pem)

    return begin


def https(url: str) -> str:
    return url.replace("http://", "https://")


def test_an_answer_is_the_same_through_tls(
    gateway: Any, authority: Any, rude_url: str, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["healthy", "split-anywhere", "incremental", "trickle"]
    plain = ask(rude_url, *texts).requests
    monkeypatch.setenv("SSL_CERT_FILE", str(authority[1]))

    with gateway("127.0.0.1") as url:
        outcome = ask(https(url), *texts, concurrency=2)

    for request, same in zip(outcome.requests, plain, strict=True):
        assert isinstance(request, RequestCompleted), request
        assert isinstance(same, RequestCompleted), same
        assert (request.text, request.output_ids) == (same.text, same.output_ids)
        assert 0 < request.ttft_s <= request.e2e_s
    assert outcome.client.connections == 2


@pytest.mark.parametrize(
    ("name", "is_trusted", "why"),
    [("127.0.0.1", False, "certificate is not trusted"), ("other.example", True, "not valid for")],
)
def test_a_stranger_s_certificate_is_no_connection_and_no_answer(
    gateway: Any,
    authority: Any,
    ask: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    is_trusted: bool,
    why: str,
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority[1]))

    with gateway(name) as url:
        (failed,) = ask(https(url), "healthy").requests
        with pytest.raises(ServerUntrusted) as untrusted:
            ask_server(https(url), "/health")
        with pytest.raises(ServerUntrusted), attached_server(https(url)):
            pytest.fail("the body must not run")
        with pytest.raises(ServerError, match="SSLError"):
            get_json(https(url), "/server_info", None)

    assert isinstance(failed, RequestFailed)
    assert "certificate is not trusted" in failed.reason
    assert why in failed.reason
    assert "SSL_CERT_FILE" in untrusted.value.remedy


def test_a_server_without_tls_is_one_sentence(ask: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=refuse_what_is_no_http, args=(door,), daemon=True).start()

        (failed,) = ask(f"https://127.0.0.1:{door.getsockname()[1]}", "healthy").requests

    assert isinstance(failed, RequestFailed)
    assert failed.reason.startswith("not sent: no connection: no TLS (")


def refuse_what_is_no_http(door: socket.socket) -> None:
    with suppress(OSError):  # the test has closed the door
        while True:
            connection, _ = door.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
