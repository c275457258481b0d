"""One run of another benchmark tool as evidence. Pure: records in, evidence out."""

from ddbench.checks.evidence import DraftCounts, Evidence
from ddbench.checks.from_settings import speculation_from
from ddbench.records import ToolResult


def tool_evidence(result: ToolResult, *, source: str, number: int = 1) -> Evidence:
    """number: which run of the file `source` it is, from 1.

    Requests keep the tool's own order as their ids, so they are of this run alone.
    """
    counts: tuple[DraftCounts, ...] = ()
    if result.accepted_tokens is not None:
        counts = (DraftCounts(result.accepted_tokens, result.drafted_tokens, None, None),)
    return Evidence(
        subject=source if number == 1 else f"{source} (run {number})",
        source=source,
        arm=result.tool,
        speculation=speculation_from(result.settings),
        server_version=result.server_version,
        requests=result.requests,
        settings=result.settings,
        draft_counts=counts,
        tool=result,
    )
