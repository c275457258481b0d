from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Found, Outcome, Severity
from ddbench.checks.rule import Need, rule

GRAPH: Need[Evidence] = Need(
    "log windows that say whether a graph ran",
    lambda e: any(w.graph is not None and w.running_requests for w in e.windows),
)


@rule(
    "DDB203",
    "graph-off-in-some-windows",
    Severity.ERROR,
    remedy="Capture graphs up to the largest batch, or limit running requests to it.",
    needs=(GRAPH,),
)
def graph_off_in_some_windows(evidence: Evidence) -> Iterator[Outcome]:
    """Some steps ran from a CUDA graph and some without.

    ## Why it matters
    A step outside a graph can take several times as long (3.8 times in the case that ddbench grew
    out of). A mean over both kinds is the speed of neither, and an arm whose batches exceed the
    captured sizes loses for that reason alone.

    ## How it is computed
    Windows with requests running: the graph field must be the same in all. All False is right for
    an eager arm; it is a warning where the server's arguments left graphs on and it runs on a GPU.

    ## Example
    Bad: cuda graph: False in the 51 windows with more than 32 running, True in the others.
    Good: cuda graph: True throughout.
    """
    flags = [(w.graph, w.running_requests or 0) for w in evidence.windows if w.running_requests]
    on = [running for graph, running in flags if graph is True]
    off = [running for graph, running in flags if graph is False]
    if on and off:
        split = ""
        if min(off) > max(on):
            split = f": graphs ran up to {max(on)} running and never from {min(off)} on"
        yield f"no graph in {len(off)} of {len(on) + len(off)} windows{split}"
    elif (
        off
        and evidence.settings.get("disable_cuda_graph") == "False"
        and evidence.settings.get("device") == "cuda"
    ):
        yield Found(
            f"no graph in any of {len(off)} windows, though the server did not disable graphs",
            severity=Severity.WARNING,
        )
