"""One launch on a host: a Ray actor that starts the server and outlives it.

The server's guard ends it with this process: when Ray kills it, when the driver is gone, when the
node is. Ray calls an actor without concurrency in its main thread, where signals can be held.
"""

import os
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import zstandard

from ddbench.errors import DdbenchError, RunError
from ddbench.executors.executor import LaunchJob
from ddbench.executors.launch import LocalServer, launched
from ddbench.executors.on_ray.board import BoardHandle
from ddbench.executors.on_ray.clients import ClientPlan, send_from_clients
from ddbench.executors.on_ray.host import THREADS, restore_variable
from ddbench.executors.on_ray.scratch import held, require_space, scratch_folder
from ddbench.executors.on_ray.values import Host, LeftFile, Refused
from ddbench.records import Environment, Failure, Launch, RunResult, Trial

CHUNK_BYTES = 8 * 2**20
NODE_WATCH_S = 0.5


class Worker:
    """start, then measure as often as its server lives, stop, read; one call at a time.

    variables: set in this process, API keys among them. clients: who sends large loads.
    """

    def __init__(
        self,
        run: str,
        host: Host,
        board: BoardHandle,
        clients: ClientPlan,
        variables: Mapping[str, str],
    ) -> None:
        assert threading.current_thread() is threading.main_thread()
        threading.Thread(target=_die_with_node, args=(os.getppid(),), daemon=True).start()
        restore_variable(THREADS)
        os.environ.update(variables)
        self._host = host
        self._folder = scratch_folder(run, host.name)
        self._board = board
        self._clients = clients
        self._open = ExitStack()
        self._server: LocalServer | None = None
        self._stem = ""

    def start(self, job: LaunchJob) -> Launch | Refused:
        """The launch, failed or not; its log's name is taken into this host's scratch folder."""
        self._stem = job.log_path.stem
        send = partial(
            send_from_clients,
            plan=self._clients,
            server=self._host,
            listens=job.server.host,
            board=self._board,
        )
        try:
            folder = self._open.enter_context(held(self._folder))
            require_space(folder)
            job = replace(job, log_path=folder / job.log_path.name)
            self._server = self._open.enter_context(launched(job, send))
            launch = self._server.launch
        except RunError as error:
            launch = Launch(job.server, (), None, None, Environment({}, {}), _no_space(error))
        except DdbenchError as error:
            return Refused.of(error)
        facts = {**launch.environment.facts, "host.name": self._host.name}
        return replace(launch, environment=replace(launch.environment, facts=facts))

    def measure(self, trial: Trial) -> RunResult | Refused:
        assert self._server is not None
        self._board.clear.remote(self._host.name)
        try:
            result = self._server.measure(
                trial, partial(self._board.put.remote, self._host.name, 0)
            )
            result = replace(result, host=self._host.name)
            require_space(self._folder)
        except RunError as error:
            return replace(result, failure=_no_space(error))
        except DdbenchError as error:
            return Refused.of(error)
        return result

    def is_alive(self) -> bool:
        return self._server is not None and self._server.is_alive()

    def stop(self) -> list[LeftFile] | Refused:
        """End the server; the files that its launch left to be read."""
        try:
            self._open.close()
        except DdbenchError as error:
            return Refused.of(error)
        files = sorted(self._folder.glob(f"{self._stem}.*")) if self._stem else []
        return [LeftFile(path.name, path.stat().st_size) for path in files]

    def read(self, name: str, start: int) -> bytes:
        """A piece of a file from `start`, compressed by zstandard."""
        with (self._folder / name).open("rb") as file:
            file.seek(start)
            return zstandard.compress(file.read(CHUNK_BYTES))

    def remove(self, name: str) -> None:
        """It has been read."""
        (self._folder / name).unlink()


def _die_with_node(node_pid: int) -> None:
    """Soon after the node's own process; Ray takes seconds. The server's guard follows."""
    while os.getppid() == node_pid:
        time.sleep(NODE_WATCH_S)
    os._exit(1)


def _no_space(error: RunError) -> Failure:
    return Failure("disk_full", str(error), error.remedy)
