"""Every launch on this machine, one after another."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from ddbench.executors.executor import LaunchJob, SweepUnderWay
from ddbench.executors.launch import launched
from ddbench.executors.trials import run_launch
from ddbench.patching.launch import with_patches
from ddbench.plan.argv import server_command
from ddbench.plan.expand import by_launch
from ddbench.records import ServerConfig, Trial
from ddbench.server.environment import identify
from ddbench.server.launchers import require_launcher, units_restored
from ddbench.server.leftovers import stop_leftover_servers
from ddbench.server.systemd.undo import stop_leftover_units


class LocalExecutor:
    """An Executor."""

    def __init__(self) -> None:
        self._identities: dict[ServerConfig, Mapping[str, str]] = {}

    def stop_leftovers(self, folder: Path) -> None:
        stop_leftover_units(folder)
        stop_leftover_servers(folder)

    def require_runnable(self, servers: Iterable[ServerConfig]) -> None:
        for server in servers:
            if server.engine != "attach":
                with_patches(server_command(server, port=0), server)
            require_launcher(server)

    def identities(self, server: ServerConfig) -> Sequence[Mapping[str, str]]:
        if server not in self._identities:
            self._identities[server] = identity(server)
        return [self._identities[server]]

    def at_work(self, folder: Path) -> AbstractContextManager[None]:
        return units_restored(folder)

    def run(self, trials: Sequence[Trial], sweep: SweepUnderWay) -> None:
        for server, group in by_launch(trials):
            versions = sweep.versions(*self.identities(server))
            pending = deque(group)
            while pending:  # a server that died in mid-trial is launched again for the rest
                log_path, record = sweep.new_launch(pending[0].arm)
                job = LaunchJob(pending[0], versions, sweep.prompts, log_path)
                run_launch(job, pending, launched, record=record, is_spared=sweep.is_spared)


def identity(server: ServerConfig) -> dict[str, str]:
    """As `identify`, for the command that `server` stands for on this machine."""
    if server.engine == "attach":
        return identify(server, None)
    return identify(server, with_patches(server_command(server, port=0), server))
