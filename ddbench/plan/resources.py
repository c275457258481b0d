"""What a host must have for a server, by its flags: Ray's names, GPU and CPU and a site's own."""

from collections.abc import Mapping

from ddbench.errors import PlanError
from ddbench.plan.marked_yaml import Marked
from ddbench.records import ServerConfig

Resources = Mapping[str, float]

_TENSOR = ("tp-size", "tensor-parallel-size", "tp")
_PIPELINE = ("pp-size", "pipeline-parallel-size", "pp")
_DATA = ("dp-size", "data-parallel-size", "dp")


def read_resources(node: Marked | None) -> tuple[tuple[str, float], ...]:
    """`resources: {GPU: 8, CPU: 16}` of a sweep file; it stands above what flags say."""
    if node is None or node.is_null():
        return ()
    amounts = {name: value.number(at_least=0.0) for name, value in node.mapping().items()}
    return tuple(sorted(amounts.items()))


def resources_of(server: ServerConfig, asked: Resources) -> dict[str, float]:
    """What a launch of `server` takes: a CPU core, and for SGLang a GPU a rank.

    Data-parallel attention shares the GPUs of tensor parallelism; otherwise each data-parallel
    replica has its own. Raises PlanError for a server that spans several hosts.
    """
    flags = dict(server.flags)
    if _size(flags, ("nnodes",)) > 1:
        raise PlanError(
            "a server that spans several hosts cannot be placed: ddbench puts each on one",
            remedy="Take `nnodes` out, or measure that server with engine: attach.",
        )
    needed = {"CPU": 1.0}
    if server.engine == "sglang" and flags.get("device") != "cpu":
        replicas = 1 if flags.get("enable-dp-attention") else _size(flags, _DATA)
        needed["GPU"] = float(_size(flags, _TENSOR) * _size(flags, _PIPELINE) * replicas)
    return {name: amount for name, amount in {**needed, **asked}.items() if amount}


def _size(flags: Mapping[str, object], names: tuple[str, ...]) -> int:
    given = [value for name in names if isinstance(value := flags.get(name), int)]
    return given[0] if given else 1
