"""What crosses between the driver and a host. An error crosses as a value: Ray would wrap it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ddbench.errors import DdbenchError, RemoteError


@dataclass(frozen=True, slots=True)
class Host:
    """A node of the cluster. name: unique among them. node_id: Ray's."""

    name: str
    node_id: str
    address: str
    resources: Mapping[str, float] = field(hash=False, compare=False)

    @property
    def offers(self) -> Mapping[str, float]:
        """Its resources without memory, and without the names that Ray gives to single nodes."""
        return {
            name: amount
            for name, amount in sorted(self.resources.items())
            if "memory" not in name and not name.startswith("node:")
        }


@dataclass(frozen=True, slots=True)
class Refused:
    """A DdbenchError that a host raised."""

    kind: str
    message: str
    remedy: str

    @classmethod
    def of(cls, error: DdbenchError) -> "Refused":
        return cls(type(error).__name__, str(error), error.remedy)

    def error(self, host: Host) -> RemoteError:
        return RemoteError(f"{host.name}: {self.message}", remedy=self.remedy, kind=self.kind)


@dataclass(frozen=True, slots=True)
class LeftFile:
    """A file that a launch left on its host."""

    name: str
    size_bytes: int
