"""One load, whichever loop it asks for."""

from collections.abc import Callable, Sequence
from typing import Protocol

from ddbench.load.closed_loop import run_closed_loop
from ddbench.load.open_loop import run_open_loop
from ddbench.load.progress import Progress
from ddbench.load.shards import STREAMS_PER_PROCESS, run_sharded
from ddbench.records import LoadConfig, LoadOutcome, Prompt


class Send(Protocol):
    """As run_load."""

    def __call__(
        self,
        base_url: str,
        prompts: Sequence[Prompt],
        load: LoadConfig,
        *,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> LoadOutcome: ...


def run_load(
    base_url: str,
    prompts: Sequence[Prompt],
    load: LoadConfig,
    *,
    on_progress: Callable[[Progress], None] | None = None,
) -> LoadOutcome:
    """A closed loop at a concurrency, by several processes where it is large; or an open loop."""
    if load.rate_per_s is not None:
        run = run_open_loop
    elif load.concurrency > STREAMS_PER_PROCESS:
        run = run_sharded
    else:
        run = run_closed_loop
    return run(base_url, prompts, load, on_progress=on_progress)
