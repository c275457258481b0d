from collections.abc import Iterator
from itertools import pairwise

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.limits import PRINTED_HALF_UNIT, depth_limit, is_uno
from ddbench.checks.needs import TOOL
from ddbench.checks.rule import rule
from ddbench.records import ToolResult

SHARE = 0.01


@rule(
    "DDB132",
    "tool-acceptance-inconsistent",
    Severity.ERROR,
    remedy="Do not quote this acceptance; read the server's log, or measure again.",
    needs=(TOOL,),
)
def tool_acceptance_inconsistent(evidence: Evidence) -> Iterator[Outcome]:
    """The acceptance that a tool wrote must be possible, and agree with its own counts.

    ## Why it matters
    Tools compute acceptance from counters that they read before and after, from a mean that the
    server keeps, or from chunks. A server that was restarted or used by somebody else in between
    leaves figures that cannot be.

    ## How it is computed
    1 <= accept length <= D + 1, where the server's arguments give the depth limit D. With vLLM's
    counts: length = 1 + accepted/steps, rate = accepted/drafted, within 1 %; shares by position lie
    in 0 to 1, do not rise, and sum to length - 1.

    ## Example
    Bad: accept length 9.3 with block size 8; shares by position 0.41 0.63 0.20.
    Good: accept length 3.1; 0.80 0.61 0.42 0.27.
    """
    tool = evidence.tool
    if tool is None:
        return
    if tool.accept_length is None and tool.accept_rate is None:
        yield Lacks("an accept length or rate in the file")
        return
    depth = None if is_uno(evidence) else depth_limit(evidence)
    if odd := [*_range(tool, depth), *_counts(tool), *_positions(tool)]:
        yield ", ".join(odd)


def _range(tool: ToolResult, depth: int | None) -> Iterator[str]:
    length, rate = tool.accept_length, tool.accept_rate
    if length is not None and length < 1.0 - PRINTED_HALF_UNIT:
        yield f"accept length {length:.2f} is below 1"
    if length is not None and depth is not None and length > depth + 1 + PRINTED_HALF_UNIT:
        yield f"accept length {length:.2f} is above {depth + 1}, all that a step can commit"
    if rate is not None and rate > 1.0 + PRINTED_HALF_UNIT:
        yield f"accept rate {rate:.3f} is above 1"


def _counts(tool: ToolResult) -> Iterator[str]:
    if tool.accepted_tokens is None:
        return
    for name, stated, whole, more in (
        ("accept length", tool.accept_length, tool.draft_steps, 1.0),
        ("accept rate", tool.accept_rate, tool.drafted_tokens, 0.0),
    ):
        if stated is None or not whole:
            continue
        counted = more + tool.accepted_tokens / whole
        if abs(stated - counted) > SHARE * max(counted, SHARE):
            yield f"{name} is {stated:.3f}, its counts give {counted:.3f}"


def _positions(tool: ToolResult) -> Iterator[str]:
    shares = tool.position_rates
    if any(share > 1.0 for share in shares):
        yield f"a share by position is above 1: {max(shares):.3f}"
    if any(after > before + 1e-9 for before, after in pairwise(shares)):
        yield "the shares by position rise: no draft is accepted before the one in front of it"
    if not shares or tool.accept_length is None:
        return
    if abs(sum(shares) - (tool.accept_length - 1.0)) > SHARE * tool.accept_length:
        yield (
            f"the shares by position sum to {sum(shares):.3f}, accept length - 1 is "
            f"{tool.accept_length - 1.0:.3f}"
        )
