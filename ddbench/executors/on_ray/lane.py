"""One host's share of a pass: a thread of the driver that runs one launch there at a time."""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ddbench.errors import RemoteError
from ddbench.events import LaunchEnded, LaunchEvent, TrialEnded, TrialStarted
from ddbench.executors.executor import LaunchJob, Record, SweepUnderWay, Versions
from ddbench.executors.measure import unmeasured
from ddbench.executors.on_ray.block_queue import Block, BlockQueue
from ddbench.executors.on_ray.board import BoardHandle
from ddbench.executors.on_ray.cluster import Cluster
from ddbench.executors.on_ray.main_thread import MainThread, Stopped
from ddbench.executors.on_ray.remote_server import HostLost, launched_on
from ddbench.executors.on_ray.values import Host
from ddbench.executors.trials import run_launch
from ddbench.plan.expand import by_launch
from ddbench.records import Environment, Failure, Launch, ServerConfig, Trial

MOST_LOSSES = 2
"""Of workers under one trial, after which it stays failed: it may be what kills them."""

_RETRIED = "Do nothing: it is run again. If it recurs, look at the host's memory and `dmesg`."


@dataclass(frozen=True)
class Pass:
    """What all lanes of one pass share. new_worker: on which host, for a launch of which server."""

    cluster: Cluster
    sweep: SweepUnderWay
    blocks: BlockQueue
    main: MainThread
    board: BoardHandle
    identities: Callable[[ServerConfig, Host], Mapping[str, str] | None]
    new_worker: Callable[[Host, Trial], Any]
    losses: Counter[Trial] = field(default_factory=Counter)


class Lane:
    """`run` is a thread's. failure: what ended it, if that was no lost host."""

    def __init__(self, shared: Pass, host: Host) -> None:
        self._shared = shared
        self._host = host
        self.failure: BaseException | None = None
        self.is_closed_by_survivor = False

    def run(self) -> None:
        try:
            while (block := self._shared.blocks.take(self._can_run)) is not None:
                rest: Block = block
                try:
                    rest = self._run_block(block)
                finally:
                    self._shared.blocks.done(rest)
                if rest:
                    return  # without the host
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 raised again by the main thread
            self.failure = error

    def _can_run(self, block: Block) -> bool:
        servers = {trial.server for trial in block}
        return all(self._shared.identities(server, self._host) is not None for server in servers)

    def _run_block(self, block: Block) -> list[Trial]:
        """What is left of it when the host is lost."""
        left = deque((server, deque(group)) for server, group in by_launch(block))
        while left:
            server, pending = left[0]
            identity = self._shared.identities(server, self._host)
            assert identity is not None
            while pending:
                if not self._launch(pending, self._shared.sweep.versions(identity)):
                    return [trial for _, group in left for trial in group]
            left.popleft()
        return []

    def _launch(self, pending: deque[Trial], versions: Versions) -> bool:
        """Launch once; True when the host can take another."""
        shared = self._shared
        log_path, record = shared.main.call(
            shared.sweep.new_launch, pending[0].arm, self._host.name
        )
        told = Told(partial(shared.main.call, record))
        job = LaunchJob(pending[0], versions, shared.sweep.prompts, log_path)
        launched = partial(
            launched_on,
            shared.cluster.ray,
            self._host,
            shared.board,
            partial(shared.new_worker, self._host, pending[0]),
        )
        is_spared = partial(shared.main.call, shared.sweep.is_spared)
        try:
            run_launch(job, pending, launched, record=told.record, is_spared=is_spared)
        except HostLost as lost:
            is_there = not shared.main.is_stopped and shared.cluster.outlives(self._host)
            self.note_loss(_loss(lost, self._host, is_there), job, pending, told)
            return is_there
        except RemoteError as error:
            if error.kind != "ServerSurvived":
                raise
            self.failure = error  # nothing else may be started beside it, on this host
            self.is_closed_by_survivor = True
            return False
        return True

    def note_loss(
        self, failure: Failure, job: LaunchJob, pending: deque[Trial], told: "Told"
    ) -> None:
        """The attempt under way failed; it is the next to be tried, but not for ever."""
        if not told.is_launched:
            where = Environment({"host.name": self._host.name}, {})
            told.record(LaunchEnded(Launch(job.server, (), None, None, where, failure)))
        begun = told.under_way
        if begun is None and not pending:
            return
        trial = pending.popleft() if begun is None else begun
        self._shared.losses[trial] += 1
        is_tried_again = self._shared.losses[trial] < MOST_LOSSES
        if begun is not None or not is_tried_again:
            told.record(TrialEnded(replace(unmeasured(trial, job.versions), failure=failure)))
        if is_tried_again:
            pending.appendleft(trial)


def _loss(lost: HostLost, host: Host, is_there: bool) -> Failure:
    if is_there:
        return Failure("worker_lost", f"the worker on {host.name} was killed ({lost})", _RETRIED)
    return Failure("host_lost", f"{host.name} left the cluster ({lost})", _RETRIED)


class Told:
    """What was recorded of one launch so far."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self.is_launched = False
        self.under_way: Trial | None = None

    def record(self, event: LaunchEvent) -> None:
        self._record(event)
        if isinstance(event, LaunchEnded):
            self.is_launched = True
        elif isinstance(event, TrialStarted):
            self.under_way = event.trial
        elif isinstance(event, TrialEnded):
            self.under_way = None
