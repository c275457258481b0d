"""What runs the launches of a sweep: on this machine (`local.py`), or on others.

An executor starts servers and measures; it never sees the run's database. It tells each launch's
`record` what happens, and the sweep, the only writer, stores what comes back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ddbench.events import LaunchEvent
from ddbench.records import Prompt, ServerConfig, Trial

Record = Callable[[LaunchEvent], None]
Versions = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LaunchJob:
    """One server start, and what measuring on it takes: plain data, for any host.

    versions: what beside the trial makes its key. log_path: its folder takes all that the launch
    writes.
    """

    first: Trial
    versions: Versions
    prompts: tuple[Prompt, ...]
    log_path: Path

    @property
    def server(self) -> ServerConfig:
        return self.first.server


class SweepUnderWay(Protocol):
    """What an executor may ask of the sweep. `record` is to be called by one thread at a time."""

    @property
    def prompts(self) -> tuple[Prompt, ...]: ...

    def new_launch(self, arm: str, host: str | None = None) -> tuple[Path, Record]:
        """A log file for one more launch, and who stores and shows what happens on it.

        host: one of several.
        """

    def versions(self, identity: Mapping[str, str]) -> Versions:
        """What goes into the keys of trials on a machine of this identity."""

    def is_spared(self, trial: Trial) -> bool:
        """True when its repeats so far are precise enough."""


class Executor(Protocol):
    def stop_leftovers(self, folder: Path) -> None:
        """End what a killed sweep left of the run in `folder`, whose lock the caller holds."""

    def require_runnable(self, servers: Iterable[ServerConfig]) -> None:
        """Raises what can be known before anything starts: PlanError, ServerError."""

    def identities(self, server: ServerConfig) -> Sequence[Mapping[str, str]]:
        """What of the machines, packages and files decides a result; one a kind of machine."""

    def at_work(self, folder: Path) -> AbstractContextManager[None]:
        """Around all launches of the run in `folder`; at its end machines are as they were."""

    def run(self, trials: Sequence[Trial], sweep: SweepUnderWay) -> None:
        """Run or spare every trial; launches that fail, and trials that do, are recorded as such.

        Raises ServerSurvived when a server outlived SIGKILL.
        """
