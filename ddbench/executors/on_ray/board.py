"""How far each host's trial is, for whoever shows it. A Ray actor beside the driver."""

from typing import Any

from ddbench.load.progress import Progress, together

BoardHandle = Any  # Ray's handle of a Board


class Board:
    """shard: which process of a load; a load of several counts once all have said something."""

    def __init__(self) -> None:
        self._said: dict[str, dict[int, Progress]] = {}
        self._shards: dict[str, int] = {}

    def clear(self, host: str, shards: int = 1) -> None:
        """A trial begins, or its load is shared by so many."""
        self._said[host] = {}
        self._shards[host] = shards

    def put(self, host: str, shard: int, progress: Progress) -> None:
        self._said.setdefault(host, {})[shard] = progress

    def read(self, host: str) -> Progress | None:
        said = self._said.get(host, {})
        return together(said.values()) if len(said) == self._shards.get(host) else None
