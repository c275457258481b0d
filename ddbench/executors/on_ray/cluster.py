"""The Ray cluster that hosts come from: reached, listed, asked, and left."""

import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ddbench.errors import ClusterError, SetupError
from ddbench.executors.on_ray.code import Code, asker, ours, package_folder, why_unlike
from ddbench.executors.on_ray.values import Host

CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 300.0  # of a host that starts a Python process, and hashes weights

_START_ONE = "Start one with `ray start --head`, or give its address: --address HOST:6379."


@contextmanager
def connected(address: str | None, *, ship_code: bool) -> Iterator["Cluster"]:
    """The cluster at `address`, or by default at $RAY_ADDRESS, or the one this machine is part of.

    Raises SetupError without Ray, ClusterError when no cluster answers.
    """
    ray = import_ray()
    runtime_env = {"py_modules": [str(package_folder())]} if ship_code else None
    where = address or os.environ.get("RAY_ADDRESS") or "auto"
    _require_listener(where)
    try:
        ray.init(
            where,
            configure_logging=False,
            log_to_driver=False,
            runtime_env=runtime_env,
            namespace=f"ddbench-{os.getpid()}",
        )
    except (ConnectionError, RuntimeError, ValueError, AssertionError) as cause:
        raise _no_cluster(where, _first_line(cause)) from cause
    _quieten(ray)
    try:
        yield Cluster(ray)
    finally:
        ray.shutdown()


def _require_listener(where: str) -> None:
    """Raises ClusterError at once where nobody listens: Ray itself tries for minutes."""
    host, _, port = where.rpartition(":")
    if "://" in where or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as cause:
        raise _no_cluster(where, _first_line(cause)) from cause


def _no_cluster(where: str, why: str) -> ClusterError:
    shown = "this machine" if where == "auto" else where
    return ClusterError(f"no Ray cluster at {shown}: {why}", remedy=_START_ONE)


def _quieten(ray: Any) -> None:
    """Ray prints pages of a lost node's state into the sweep's own lines, and has no switch."""
    printing = ray._private.worker
    if hasattr(printing, "print_to_stdstream"):
        printing.print_to_stdstream = lambda *_, **__: None


def import_ray() -> Any:
    """Raises SetupError."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as cause:
        raise SetupError(
            "Ray is not installed", remedy="Install it with `pip install 'ddbench[ray]'`."
        ) from cause
    return ray


@dataclass(frozen=True, slots=True)
class Cluster:
    ray: Any

    def hosts(self) -> list[Host]:
        """The living nodes, sorted by name; nodes of one name are told apart by Ray's id."""
        alive = [node for node in self.ray.nodes() if node["Alive"]]
        names = [_name(node) for node in alive]
        found = [
            Host(
                name=name if names.count(name) == 1 else f"{name}-{node['NodeID'][:8]}",
                node_id=node["NodeID"],
                address=node["NodeManagerAddress"],
                resources=node["Resources"],
            )
            for name, node in zip(names, alive, strict=True)
        ]
        return sorted(found, key=lambda host: host.name)

    def is_alive(self, host: Host) -> bool:
        return any(node["NodeID"] == host.node_id and node["Alive"] for node in self.ray.nodes())

    def outlives(self, host: Host) -> bool:
        """Whether the host is still there after a worker on it is gone; Ray takes a while to know
        of a node that is not."""
        ping = self.ray.remote(_nothing).options(**self.on(host, {}), max_retries=0).remote()
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while self.is_alive(host) and time.monotonic() < deadline:
            if self.ray.wait([ping], timeout=0.5)[0]:
                try:
                    self.ray.get(ping)
                except self.ray.exceptions.RayError:
                    return False
                return True
        return False

    def on(self, host: Host, resources: Mapping[str, float]) -> dict[str, Any]:
        """Ray's options for a task or an actor on this host and no other."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        own = {name: n for name, n in resources.items() if name not in ("CPU", "GPU", "memory")}
        return {
            "num_cpus": resources.get("CPU", 0),
            "num_gpus": resources.get("GPU", 0),
            **({"memory": int(resources["memory"])} if "memory" in resources else {}),
            **({"resources": own} if own else {}),
            "scheduling_strategy": NodeAffinitySchedulingStrategy(host.node_id, soft=False),
        }

    def ask(self, hosts: Sequence[Host], function: Any, *arguments: Any) -> dict[Host, Any]:
        """What `function` returns on each host; one that is lost meanwhile is left out.

        Raises ClusterError naming a host that does not answer.
        """
        task = self.ray.remote(function)
        asked = {
            host: task.options(**self.on(host, {}), max_retries=0).remote(*arguments)
            for host in hosts
        }
        self.ray.wait(list(asked.values()), num_returns=len(asked), timeout=ANSWER_TIMEOUT_S)
        answers: dict[Host, Any] = {}
        for host, reference in asked.items():
            try:
                answers[host] = self.ray.get(reference, timeout=0.1)
            except self.ray.exceptions.GetTimeoutError as cause:
                raise ClusterError(
                    f"{host.name} did not answer within {ANSWER_TIMEOUT_S:.0f} s",
                    remedy="Look at its `ray status`, and at the worker's log there.",
                ) from cause
            except self.ray.exceptions.RayTaskError:
                raise  # a bug there
            except self.ray.exceptions.RayError as cause:
                if self.is_alive(host):
                    raise ClusterError(
                        f"{host.name} cannot run a task: {_first_line(cause)}",
                        remedy="Look at the worker's log on that host.",
                    ) from cause
        return answers

    def require_same_code(self, hosts: Sequence[Host]) -> None:
        """Raises ClusterError naming the hosts whose ddbench is not this one."""
        mine = ours()
        unlike = [
            f"{host.name} {why}"
            for host, said in self.ask(hosts, asker()).items()
            if (why := why_unlike(Code(*said), mine)) is not None
        ]
        if unlike:
            raise ClusterError(
                "; ".join(unlike),
                remedy=f"Install ddbench {mine.version} there, or send this one: --ship-code.",
            )


def _nothing() -> None:
    pass


def _name(node: Mapping[str, Any]) -> str:
    return str(node["NodeName"] or node["NodeManagerHostname"])


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
