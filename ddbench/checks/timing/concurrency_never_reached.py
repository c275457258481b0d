from collections.abc import Iterator
from statistics import fmean

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.in_flight import achieved_concurrency
from ddbench.checks.rule import Need, rule
from ddbench.checks.window_steps import by_rank
from ddbench.records import ToolResult

SHARE = 0.8
FEWEST_WINDOWS = 5
ASKED: Need[Evidence] = Need(
    "the load that was asked for",
    lambda e: e.load is not None or (e.tool is not None and e.tool.asked_concurrency is not None),
)


@rule(
    "DDB204",
    "concurrency-never-reached",
    Severity.WARNING,
    remedy="Send more requests than the concurrency, and look for a limit on running requests.",
    needs=(ASKED,),
)
def concurrency_never_reached(evidence: Evidence) -> Iterator[Outcome]:
    """The server ran fewer requests at a time than the trial asked for.

    ## Why it matters
    A figure "at concurrency 64" that was measured with 20 running is a figure at 20. Speculation
    gains most with few requests, so an under-driven arm looks better than it is.

    ## How it is computed
    Mean #running-req over the log's windows, without the first and without the tail in which
    answers run out (the windows after the last one with the full number, or with the most), summed
    over data-parallel ranks: at least 80 % of the concurrency. With fewer than five such windows,
    the client's own achieved concurrency: request-seconds in flight between first and last send,
    over that span. Of another tool's result, the concurrency that it measured.

    ## Example
    Bad: 64 asked for, 20.3 running on average.
    Good: 64 asked for, 62.7 running on average.
    """
    if evidence.tool is not None:
        yield from _stated(evidence.tool)
        return
    if evidence.load is None:
        return
    asked = evidence.load.concurrency
    ranks = [_body([w.running_requests for w in r], asked) for r in by_rank(evidence.windows)]
    if ranks and min(len(body) for body in ranks) >= FEWEST_WINDOWS:
        running = sum(fmean(body) for body in ranks)
        if running < SHARE * asked:
            yield f"{running:.1f} requests running on average where {asked} were asked for"
        return
    achieved = achieved_concurrency(evidence)
    if achieved is None:
        yield Lacks("five log windows with #running-req, or requests sent over a span of time")
    elif achieved < SHARE * asked:
        yield f"{achieved:.1f} requests in flight on average where {asked} were asked for"


def _stated(tool: ToolResult) -> Iterator[Outcome]:
    asked, achieved = tool.asked_concurrency, tool.achieved_concurrency
    if achieved is None:
        yield Lacks("the achieved concurrency in the file")
    elif asked is not None and achieved < SHARE * asked:
        yield f"{achieved:.1f} requests in flight on average where {asked} were asked for"


def _body(values: list[int | None], asked: int) -> list[int]:
    """The windows from the second to the last that ran as many as ever (at most `asked`)."""
    known = [value for value in values if value]
    if not known:
        return []
    full = min(asked, max(known))
    last = max(i for i, value in enumerate(known) if value >= full)
    return known[1 : last + 1]
