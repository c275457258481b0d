"""A load that several processes send, on one host or many: Ray actors that start together.

Each stamps its requests by its own monotonic clock; the offsets between the clocks are measured
before and after, and the requests themselves are merged on one of them, so that percentiles are
those of all requests and never an average.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ddbench.errors import DdbenchError, LoadError, ServerError
from ddbench.executors.on_ray.board import BoardHandle
from ddbench.executors.on_ray.clock import Offset, drifted, measure_offset
from ddbench.executors.on_ray.cluster import Cluster, import_ray
from ddbench.executors.on_ray.values import Host, Refused
from ddbench.load.closed_loop import timed_closed_loop
from ddbench.load.progress import Progress
from ddbench.load.run import run_load
from ddbench.load.shards import STREAMS_PER_PROCESS, Shard, merged, parts
from ddbench.records import LoadConfig, LoadOutcome, Prompt

PREPARE_S = 1.0
"""From the last ready client to the first send: for the message, and to open connections."""

_HERE_ONLY = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE = ("", "0.0.0.0", "::")


@dataclass(frozen=True, slots=True)
class ClientPlan:
    """Which hosts may send, and how many streams one process of theirs holds."""

    hosts: tuple[Host, ...]
    streams: int = STREAMS_PER_PROCESS


class Client:
    """A process that sends its part of a load. A Ray actor."""

    def __init__(self, board: BoardHandle, server_host: str, shard: int) -> None:
        self._tell = partial(board.put.remote, server_host, shard)

    def clock(self) -> float:
        return time.perf_counter()

    def send(
        self, base_url: str, prompts: Sequence[Prompt], load: LoadConfig, start_at: float
    ) -> Shard | Refused:
        """start_at: by this process's clock."""
        try:
            return timed_closed_loop(
                base_url, prompts, load, on_progress=self._tell, start_at=start_at
            )
        except DdbenchError as error:
            return Refused.of(error)


def send_from_clients(
    base_url: str,
    prompts: Sequence[Prompt],
    load: LoadConfig,
    *,
    plan: ClientPlan,
    server: Host,
    listens: str,
    board: BoardHandle,
    on_progress: Callable[[Progress], None] | None = None,
) -> LoadOutcome:
    """As run_load; a closed loop too large for one process is sent by clients on `plan.hosts`.

    listens: the address that the server on host `server` listens at; one that listens on its own
    host only is loaded from there.

    Raises as run_load, and LoadError when a client is lost.
    """
    count = -(-load.concurrency // plan.streams)
    if load.rate_per_s is not None or count <= 1:
        return run_load(base_url, prompts, load, on_progress=on_progress)
    url, hosts = reachable(base_url, listens, server, plan.hosts)
    board.clear.remote(server.name, count)
    cluster = Cluster(import_ray())
    places = [hosts[number % len(hosts)] for number in range(count)]
    actor = cluster.ray.remote(Client)
    clients = [
        actor.options(**cluster.on(place, {})).remote(board, server.name, number)
        for number, place in enumerate(places)
    ]
    try:
        shards, offsets = send_together(cluster.ray, clients, url, prompts, load)
    except cluster.ray.exceptions.RayActorError as cause:
        raise LoadError(
            f"a client of the load was lost: {cause}".splitlines()[0],
            remedy="Look for the kernel's out-of-memory killer on the clients' hosts.",
        ) from cause
    finally:
        for client in clients:
            cluster.ray.kill(client)
    outcome = on_one_clock(shards, offsets)
    where = tuple(place.name for place in places)
    return replace(outcome, client=replace(outcome.client, client_hosts=where))


def reachable(
    base_url: str, listens: str, server: Host, hosts: Sequence[Host]
) -> tuple[str, Sequence[Host]]:
    """The server's URL as `hosts` reach it; as its own host does where nobody else can."""
    url = urlsplit(base_url)
    if listens in _EVERYWHERE:
        address = f"[{server.address}]" if ":" in server.address else server.address
        return url._replace(netloc=f"{address}:{url.port}").geturl(), hosts
    return base_url, [server] if url.hostname in _HERE_ONLY else hosts


def send_together(
    ray: Any, clients: Sequence[Any], url: str, prompts: Sequence[Prompt], load: LoadConfig
) -> tuple[list[Shard], list[Offset]]:
    """The load, shared by `clients`; each one's part by its own clock, and what that is above ours.

    Raises LoadError; ServerError when the server is gone.
    """
    before = [_offset(ray, client) for client in clients]
    start_at = time.perf_counter() + PREPARE_S
    shares = parts(prompts, load, len(clients))
    answers = [
        client.send.remote(url, *share, start_at + offset.offset_s)
        for client, share, offset in zip(clients, shares, before, strict=True)
    ]
    shards = [_shard(answer) for answer in ray.get(answers)]
    after = [_offset(ray, client) for client in clients]
    return shards, [drifted(*pair) for pair in zip(before, after, strict=True)]


def on_one_clock(shards: Sequence[Shard], offsets: Sequence[Offset]) -> LoadOutcome:
    """As one load, all its times by our clock; the offsets are kept with it."""
    ours = [(at - o.offset_s, shard) for (at, shard), o in zip(shards, offsets, strict=True)]
    outcome = merged(ours)
    client = replace(
        outcome.client,
        clock_offsets_s=tuple(offset.offset_s for offset in offsets),
        clock_error_s=max(offset.error_s for offset in offsets),
    )
    return replace(outcome, client=client)


def _offset(ray: Any, client: Any) -> Offset:
    return measure_offset(lambda: float(ray.get(client.clock.remote())))


def _shard(answer: Shard | Refused) -> Shard:
    if isinstance(answer, Refused):
        kind = ServerError if answer.kind == ServerError.__name__ else LoadError
        raise kind(answer.message, remedy=answer.remedy)
    return answer
