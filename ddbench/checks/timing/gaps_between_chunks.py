from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import TOOL
from ddbench.checks.rule import rule

LEAST = 1.2


@rule(
    "DDB211",
    "gaps-between-chunks",
    Severity.INFO,
    remedy="Quote TPOT, (E2E - TTFT)/(n - 1); call the other figure inter-chunk latency.",
    needs=(TOOL,),
)
def gaps_between_chunks(evidence: Evidence) -> Iterator[Outcome]:
    """The inter-token latency in this file is a time between chunks, which hold several tokens.

    ## Why it matters
    A step with drafts sends all that it accepted in one chunk. A tool that takes a chunk for a
    token shows an "ITL" that grows with acceptance, so the better drafter looks slower.

    ## How it is computed
    A tool that measures between chunks, and a mean ITL of over 1.2 times the mean TPOT of the file.

    ## Example
    Bad: ITL 41 ms and TPOT 13 ms: about three tokens a chunk.
    Good: ITL 13 ms and TPOT 13 ms.
    """
    tool = evidence.tool
    if tool is None:
        return
    gap = tool.percentiles.get("itl_ms", {}).get("mean")
    token = tool.percentiles.get("tpot_ms", {}).get("mean")
    if gap is None or not token:
        yield Lacks("a mean ITL and TPOT in the file")
    elif tool.itl_counts_chunks and gap > LEAST * token:
        yield (
            f"a mean ITL of {gap:.2f} ms and a mean TPOT of {token:.2f} ms: a chunk holds about "
            f"{gap / token:.1f} tokens"
        )
