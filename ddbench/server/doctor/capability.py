"""One thing that a machine may be able to do, as the doctor found it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capability:
    """facts: what was found, by name. missing: what stands in the way, empty when it is ready.

    advice: what to do, one imperative sentence each; it may also improve what is ready.
    """

    name: str
    facts: Mapping[str, str]
    missing: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    is_engine: bool = False  # a way to have a server; without any, nothing can be measured

    @property
    def is_ready(self) -> bool:
        return not self.missing
