import sys
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
