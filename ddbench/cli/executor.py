"""Which executor runs a sweep: `--executor`, and the options that belong to one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ddbench.executors.executor import Executor
    from ddbench.records import SweepPlan


class ExecutorName(StrEnum):
    LOCAL = "local"
    RAY = "ray"


class SpreadName(StrEnum):
    VISITS = "visits"
    LAUNCHES = "launches"


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """As given; None is not given."""

    name: ExecutorName
    address: str | None
    ship_code: bool
    spread: SpreadName | None
    client_streams: int | None


@contextmanager
def chosen_executor(options: ExecutorOptions, plan: "SweepPlan") -> Iterator["Executor"]:
    """Raises PlanError for options of another executor, ClusterError for a cluster of no use."""
    from ddbench.errors import PlanError

    if options.name is ExecutorName.LOCAL:
        from ddbench.executors.local import LocalExecutor

        given = {
            "--address": options.address is not None,
            "--ship-code": options.ship_code,
            "--spread": options.spread is not None,
            "--client-streams": options.client_streams is not None,
        }
        if useless := [option for option, is_given in given.items() if is_given]:
            raise PlanError(
                f"{useless[0]} is for several hosts", remedy="Add --executor ray, or take it out."
            )
        yield LocalExecutor()
        return

    from ddbench.executors.on_ray.cluster import connected
    from ddbench.executors.on_ray.executor import RayExecutor, RayOptions
    from ddbench.load.shards import STREAMS_PER_PROCESS

    spread = options.spread or SpreadName.VISITS
    how = RayOptions(
        resources=dict(plan.resources),
        spread="visits" if spread is SpreadName.VISITS else "launches",
        streams=options.client_streams or STREAMS_PER_PROCESS,
    )
    with connected(options.address, ship_code=options.ship_code) as cluster:
        yield RayExecutor(cluster, how)
        hosts = len(cluster.hosts())
        if how.spread == "visits" and plan.visits < hosts:
            typer.echo(
                f"visits: {plan.visits} kept {plan.visits} of {hosts} hosts busy; more visits, or "
                "--spread launches, use the others",
                err=True,
            )
