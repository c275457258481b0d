import socket
import threading
import time
from contextlib import suppress

import pytest

from ddbench.errors import ServerError
from ddbench.server.http import ask


def test_an_answer_that_trickles_in_ends_at_the_deadline():
    """Every byte resets the patience of an HTTP library."""
    with socket.create_server(("127.0.0.1", 0)) as door:

        def trickle():
            connection, _ = door.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.05)

        threading.Thread(target=trickle, daemon=True).start()
        started_at = time.monotonic()

        with pytest.raises(ServerError, match="no answer from"):
            ask(f"http://127.0.0.1:{door.getsockname()[1]}", "/server_info", timeout_s=1.0)

        assert time.monotonic() - started_at < 30.0
