"""The launches of a sweep on the hosts of a Ray cluster, one at a time on each.

A visit with all its arms stays on one host, and visits spread over hosts, unless asked otherwise.
What a lost host had begun is a failed attempt, and is run elsewhere.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ddbench.errors import ClusterError, PlanError
from ddbench.events import LaunchEnded, TrialEnded
from ddbench.executors.executor import SweepUnderWay
from ddbench.executors.measure import unmeasured
from ddbench.executors.on_ray.block_queue import BlockQueue
from ddbench.executors.on_ray.board import Board
from ddbench.executors.on_ray.clients import ClientPlan
from ddbench.executors.on_ray.cluster import Cluster
from ddbench.executors.on_ray.host import Identity, clear_scratch, identities
from ddbench.executors.on_ray.lane import Lane, Pass
from ddbench.executors.on_ray.main_thread import MainThread
from ddbench.executors.on_ray.scratch import run_name
from ddbench.executors.on_ray.values import Host, Refused
from ddbench.executors.on_ray.worker import Worker
from ddbench.load.shards import STREAMS_PER_PROCESS
from ddbench.plan.blocks import Spread, blocks
from ddbench.plan.resources import Resources, resources_of
from ddbench.records import Environment, Failure, Launch, ServerConfig, Trial

_KEEP_GUARDS = {"RAY_kill_child_processes_on_worker_exit": "0"}
"""Ray would kill a server's guard with the worker, before it can end what the server forked."""

JOIN_S = 30.0
"""A lane that asks whether a dead host is dead may be left alone."""


@dataclass(frozen=True, slots=True)
class RayOptions:
    """resources: stand above what flags say. streams: that one client process holds."""

    resources: Resources
    spread: Spread = "visits"
    streams: int = STREAMS_PER_PROCESS


class RayExecutor:
    """An Executor."""

    def __init__(self, cluster: Cluster, options: RayOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._hosts = [host for host in cluster.hosts() if host.offers]
        cluster.require_same_code(self._hosts)
        self._known: dict[ServerConfig, dict[Host, Identity | Refused]] = {}
        self._run = ""
        self._workers: list[Any] = []

    # ------------------------------------------------------------ before

    def stop_leftovers(self, folder: Path) -> None:
        for host, answer in self._cluster.ask(self._hosts, clear_scratch, run_name(folder)).items():
            if isinstance(answer, Refused):
                raise answer.error(host)

    def require_runnable(self, servers: Iterable[ServerConfig]) -> None:
        asked = list(servers)
        for server in asked:
            if server.launcher != "subprocess":
                raise PlanError(
                    f"launcher: {server.launcher} is for servers of this machine",
                    remedy="Take `launcher` out, or run the sweep without --executor ray.",
                )
        self._ask(asked)
        for server in asked:
            self._require_host(server)
        self._require_one_host([server for server in asked if server.engine != "attach"])

    def identities(self, server: ServerConfig) -> Sequence[Mapping[str, str]]:
        self._ask([server])
        found = [i for i in self._known[server].values() if not isinstance(i, Refused)]
        return list({tuple(sorted(identity.items())): identity for identity in found}.values())

    def _ask(self, servers: Sequence[ServerConfig]) -> None:
        """Every host with the resources for one of `servers` about all of them."""
        new = [server for server in servers if server not in self._known]
        if not new:
            return
        needs = {server: resources_of(server, self._options.resources) for server in new}
        for server in new:
            self._known[server] = {}
        big = [h for h in self._hosts if any(_has(h, need) for need in needs.values())]
        for host, answers in self._cluster.ask(big, identities, new).items():
            for server, answer in zip(new, answers, strict=True):
                if _has(host, needs[server]):
                    self._known[server][host] = answer

    def _require_host(self, server: ServerConfig) -> None:
        """Raises ClusterError: what it needs, and what there is."""
        answers = self._known[server]
        if not answers:
            needed = _shown(resources_of(server, self._options.resources))
            offers = "; ".join(f"{h.name}: {_shown(h.offers)}" for h in self._hosts)
            raise ClusterError(
                f"no host has {needed} for a server; the cluster offers {offers}",
                remedy="Add such a host, or correct the flags or `resources:` in the sweep file.",
            )
        refused = {h: a for h, a in answers.items() if isinstance(a, Refused)}
        if len(refused) == len(answers):
            raise ClusterError(
                "; ".join(f"{host.name}: {said.message}" for host, said in refused.items()),
                remedy=next(iter(refused.values())).remedy,
            )

    def _require_one_host(self, servers: Sequence[ServerConfig]) -> None:
        """Raises ClusterError where a visit stays on one host, and none can run all of it."""
        if self._options.spread != "visits":
            return
        able = [{h for h in self._hosts if self._identity(s, h) is not None} for s in servers]
        if able and not set.intersection(*able):
            names = sorted({host.name for hosts in able for host in hosts})
            raise ClusterError(
                f"no host can run all arms: each server runs on some of {', '.join(names)} only",
                remedy="Put what is missing on one of them, or compare arms of different hosts by "
                "--spread launches.",
            )

    # ------------------------------------------------------------ the launches

    @contextmanager
    def at_work(self, folder: Path) -> Iterator[None]:
        self._run = run_name(folder)
        try:
            yield
        finally:
            self._kill_workers()
            alive = [host for host in self._hosts if self._cluster.is_alive(host)]
            self._cluster.ask(alive, clear_scratch, self._run)

    def run(self, trials: Sequence[Trial], sweep: SweepUnderWay) -> None:
        hosts = [host for host in self._hosts if self._cluster.is_alive(host)]
        main = MainThread()
        queue = BlockQueue(blocks(trials, self._options.spread))
        board = self._board()
        new_worker = partial(self._new_worker, board)
        shared = Pass(self._cluster, sweep, queue, main, board, self._identity, new_worker)
        lanes = [Lane(shared, host) for host in hosts]
        threads = [threading.Thread(target=lane.run, daemon=True) for lane in lanes]
        for thread in threads:
            thread.start()
        try:
            main.serve_while(
                lambda: (
                    any(thread.is_alive() for thread in threads)
                    and not any(_is_fatal(lane) for lane in lanes)
                )
            )
        finally:
            main.stop()
            queue.close()
            self._kill_workers()
            for thread in threads:
                thread.join(timeout=JOIN_S)
        for failure in (lane.failure for lane in lanes):
            if failure is not None:
                raise failure
        self._note_left(queue.left(), sweep)

    def _board(self) -> Any:
        ray = self._cluster.ray
        here = ray.get_runtime_context().get_node_id()
        (host,) = (host for host in self._cluster.hosts() if host.node_id == here)
        return ray.remote(Board).options(**self._cluster.on(host, {})).remote()

    def _identity(self, server: ServerConfig, host: Host) -> Identity | None:
        found = self._known[server].get(host)
        return None if isinstance(found, Refused) else found

    def _new_worker(self, board: Any, host: Host, trial: Trial) -> Any:
        key = trial.load.api_key_env
        variables = {key: os.environ[key]} if key is not None and key in os.environ else {}
        clients = ClientPlan(self._client_hosts(), self._options.streams)
        needed = resources_of(trial.server, self._options.resources)
        actor = self._cluster.ray.remote(Worker).options(
            **self._cluster.on(host, needed), runtime_env={"env_vars": _KEEP_GUARDS}
        )
        worker = actor.remote(self._run, host, board, clients, variables)
        self._workers.append(worker)
        return worker

    def _client_hosts(self) -> tuple[Host, ...]:
        """Those that run none of the servers, if there are any: a client is no idle neighbour."""
        free = [h for h in self._hosts if all(self._identity(s, h) is None for s in self._known)]
        return tuple(free or self._hosts)

    def _kill_workers(self) -> None:
        while self._workers:
            self._cluster.ray.kill(self._workers.pop())

    def _note_left(self, trials: Sequence[Trial], sweep: SweepUnderWay) -> None:
        """Every host that could run them was lost."""
        failure = Failure(
            "no_host_left",
            "every host that could run it was lost",
            "Look at `ray status`; go on with `ddbench sweep --resume` when hosts are back.",
        )
        for trial in trials:
            _, record = sweep.new_launch(trial.arm)
            launch = Launch(trial.server, (), None, None, Environment({}, {}), failure)
            record(LaunchEnded(launch))
            identity = self.identities(trial.server)[0]
            result = unmeasured(trial, sweep.versions(identity))
            record(TrialEnded(replace(result, failure=failure)))


def _is_fatal(lane: Lane) -> bool:
    """Not for one host only."""
    return lane.failure is not None and not lane.is_closed_by_survivor


def _has(host: Host, needed: Resources) -> bool:
    return all(host.resources.get(name, 0.0) >= amount for name, amount in needed.items())


def _shown(resources: Resources) -> str:
    return ", ".join(f"{amount:g} {name}" for name, amount in resources.items()) or "nothing"
