"""What CUDA graphs are worth, from arms that differ in nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from ddbench.compare.arms import ComparedArm
from ddbench.compare.conditions import refusing
from ddbench.compare.gate import trouble_at
from ddbench.compare.pairing import shared_concurrencies, throughput_ratio
from ddbench.stats.interval import Interval

_FLAG = "disable_cuda_graph"
_OF_GRAPHS = frozenset({_FLAG, "steps from CUDA graphs"})


@dataclass(frozen=True, slots=True)
class GraphFactor:
    """tokens_per_s: with graphs over without, trials paired by visit and repeat."""

    with_graphs: str
    without: str
    concurrency: int
    tokens_per_s: Interval


def graph_factors(arms: Sequence[ComparedArm]) -> list[GraphFactor]:
    """For every two arms that draft alike, one with graphs and one without; empty where none do.

    Left out are concurrencies at which the trials of one cannot stand for it.
    """
    found = []
    for one, other in combinations(arms, 2):
        if not _differ_in_graphs_alone(one, other):
            continue
        on, off = (one, other) if one.settings[_FLAG] == "false" else (other, one)
        for concurrency in shared_concurrencies(on, off):
            if any(trouble_at(concurrency, arm.at(concurrency)) for arm in (on, off)):
                continue
            ratio = throughput_ratio(off.at(concurrency), on.at(concurrency))
            if ratio is not None:
                found.append(GraphFactor(on.name, off.name, concurrency, ratio))
    return found


def _differ_in_graphs_alone(one: ComparedArm, other: ComparedArm) -> bool:
    if one.speculation != other.speculation or one.server.patches != other.server.patches:
        return False
    flags = {one.settings.get(_FLAG), other.settings.get(_FLAG)}
    differ = {difference.what for difference in refusing(one, other)}
    return flags == {"true", "false"} and differ <= _OF_GRAPHS
