import socket

import pytest

from ddbench.errors import PortInUse, ServerError
from ddbench.server.ports import base_url, free_port, require_free


def test_a_free_port_can_be_bound():
    port = free_port("127.0.0.1")

    require_free("127.0.0.1", port)
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_listener_s_port_is_refused(port):
    with socket.create_server(("127.0.0.1", port)), pytest.raises(PortInUse, match=str(port)):
        require_free("127.0.0.1", port)


def test_a_listener_on_every_address_holds_ours_too(port):
    with socket.create_server(("0.0.0.0", port)), pytest.raises(PortInUse):
        require_free("127.0.0.1", port)


def test_a_port_that_was_just_closed_is_free(port):
    """Its connection lingers in TIME_WAIT, which stops no server."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = listener.accept()
        accepted.close()
        client.close()

    require_free("127.0.0.1", port)


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid"])
def test_an_address_that_is_not_ours_is_one_sentence(host):
    with pytest.raises(ServerError) as caught:
        require_free(host, 30000)

    assert host in str(caught.value)
    assert "127.0.0.1" in caught.value.remedy or "this machine" in caught.value.remedy


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("gpu-7", "http://gpu-7:8000"),
    ],
)
def test_a_server_is_reached_where_it_listens(host, url):
    assert base_url(host, 8000) == url
