"""What a probe gets, and how it says that it has no answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ddbench.records import ServerConfig


class NotKnown(Exception):
    """A probe's reason for having no answer. Recorded, never raised out of this stage."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The server under examination. `info` is its /server_info, None when it gave none."""

    config: ServerConfig
    info: Mapping[str, Any] | None
    env: Mapping[str, str] = field(default_factory=dict)
    """All variables of the server's process, as far as we set or passed them."""

    def told(self, name: str) -> Any:
        """One resolved argument of the server. Raises NotKnown."""
        if self.info is None:
            raise NotKnown("the server did not answer /server_info")
        if self.info.get(name) is None:
            raise NotKnown(f"/server_info has no {name}")
        return self.info[name]
