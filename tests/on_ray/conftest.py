"""A Ray cluster of two nodes on this machine, whose processes are ours to kill."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from ddbench.server.ports import free_port
from ddbench.server.process_tree import MARK

TAG = "TEST_RAY_NODE"
START_WAIT_S = 90.0
MEMORY_BYTES = str(80 * 2**20)


@dataclass
class Cluster:
    """Nodes by name. Everything that a node starts has its tag among its variables."""

    folder: Path
    port: int = field(default_factory=lambda: free_port("127.0.0.1"))
    tags: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, name: str, **variables: str) -> None:
        """A node called `name`, once it is part of the cluster; the first one is the head."""
        head = not self.tags
        where = ["--head", f"--port={self.port}"] if head else [f"--address={self.address}"]
        extra = ["--include-dashboard=false", f"--temp-dir={self.folder}"] if head else []
        tag = self.tags[name] = uuid.uuid4().hex
        log = (self.folder / f"{name}.txt").open("wb")
        starter = subprocess.Popen(
            [
                *(sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *where, *extra),
                *("--node-ip-address=127.0.0.1", f"--node-name={name}", "--num-cpus=1"),
                *(f"--object-store-memory={MEMORY_BYTES}", "--disable-usage-stats"),
                f'--resources={{"only_{name}": 1}}',
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **variables, TAG: tag, "DDBENCH_SCRATCH": str(self.folder)},
        )
        log.close()
        self.started.append(starter)
        deadline = time.monotonic() + START_WAIT_S
        while "Ray runtime started" not in (said := (self.folder / f"{name}.txt").read_text()):
            assert time.monotonic() < deadline, said
            time.sleep(0.1)

    def processes(self, name: str) -> list[psutil.Process]:
        """What the node has started and is alive, servers too."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                is_zombie = process.status() == psutil.STATUS_ZOMBIE
                if not is_zombie and process.environ().get(TAG) == self.tags[name]:
                    found.append(process)
        return found

    def kill(self, name: str) -> None:
        """The node's own process; its workers and their servers must go by themselves."""
        for process in self.processes(name):
            with suppress(psutil.NoSuchProcess):
                if process.name() == "raylet" or "--block" in process.cmdline():
                    process.send_signal(signal.SIGKILL)

    def servers(self, name: str) -> list[psutil.Process]:
        """Servers, their guards and what they forked."""
        found = []
        for process in self.processes(name):
            with suppress(psutil.Error):
                if MARK in process.environ():
                    found.append(process)
        return found

    def close(self) -> None:
        for name in self.tags:
            while left := self.processes(name):
                for process in left:
                    with suppress(psutil.NoSuchProcess):
                        process.send_signal(signal.SIGKILL)
                psutil.wait_procs(left, timeout=5)
        for starter in self.started:
            starter.wait()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """alpha, the head, and beta; tests leave both alive."""
    pytest.importorskip("ray")
    cluster = Cluster(_short_folder())
    try:
        cluster.start("alpha")
        cluster.start("beta")
        yield cluster
    finally:
        cluster.close()
        subprocess.run(["rm", "-rf", cluster.folder], check=True)


def _short_folder() -> Path:
    """Ray's sockets lie deep in it, and their names may have 107 bytes."""
    folder = Path("/tmp") / f"ddbray-{uuid.uuid4().hex[:8]}"
    folder.mkdir(mode=0o700)
    return folder
