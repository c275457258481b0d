import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ddbench.records import ServerCommand
from ddbench.server.ports import free_port

RUDE_SERVER = Path(__file__).parent / "rude_server.py"


@pytest.fixture
def port():
    return free_port("127.0.0.1")


@pytest.fixture
def rude_server(port):
    """Makes the command of a server process that misbehaves as asked."""

    def command(*manners: str, env: dict[str, str] | None = None) -> ServerCommand:
        argv = (sys.executable, str(RUDE_SERVER), "--port", str(port), *manners)
        return ServerCommand(argv=argv, env=env or {}, model_path="our-model")

    return command


@pytest.fixture
def http_server():
    """Starts servers in threads: {(method, path): [(status, body), ...]}, the last repeating."""
    running = []

    def start(routes):
        left = {route: list(answers) for route, answers in routes.items()}

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                answers = left.get((self.command, self.path), [(404, "not found")])
                status, body = answers.pop(0) if len(answers) > 1 else answers[0]
                self.send_response(status)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def do_GET(self):
                self.answer()

            def do_POST(self):
                self.answer()

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()
