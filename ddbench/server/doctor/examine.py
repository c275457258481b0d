"""The whole examination, in the order in which it is shown."""

from ddbench.server.doctor.capability import Capability
from ddbench.server.doctor.engines import embedded, sglang_cpu, sglang_gpu
from ddbench.server.doctor.host import patches, systemd
from ddbench.server.doctor.sglang_environment import examine_environment


def examine(sglang_python: str | None) -> list[Capability]:
    """What this machine can run. sglang_python: an interpreter said to have SGLang, if any."""
    environment = examine_environment(sglang_python) if sglang_python else None
    return [
        embedded(),
        sglang_cpu(environment),
        sglang_gpu(environment),
        systemd(),
        patches(),
    ]
