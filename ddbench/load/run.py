"""One load, whichever loop it asks for."""

from collections.abc import Callable, Sequence

from ddbench.load.closed_loop import run_closed_loop
from ddbench.load.open_loop import run_open_loop
from ddbench.load.progress import Progress
from ddbench.records import LoadConfig, LoadOutcome, Prompt


def run_load(
    base_url: str,
    prompts: Sequence[Prompt],
    load: LoadConfig,
    *,
    on_progress: Callable[[Progress], None] | None = None,
) -> LoadOutcome:
    """A closed loop at a concurrency, or an open one at a rate; see there."""
    run = run_closed_loop if load.rate_per_s is None else run_open_loop
    return run(base_url, prompts, load, on_progress=on_progress)
