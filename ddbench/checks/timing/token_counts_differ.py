from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Lacks, Outcome, Severity
from ddbench.checks.needs import TOOL
from ddbench.checks.rule import rule

SHARE = 0.02


@rule(
    "DDB213",
    "token-counts-differ",
    Severity.INFO,
    remedy="Name the count that a rate is of: the server's own, or that of a tokenizer.",
    needs=(TOOL,),
)
def token_counts_differ(evidence: Evidence) -> Iterator[Outcome]:
    """The server and a tokenizer count different numbers of output tokens in the same answers.

    ## Why it matters
    Some tools cut the text into tokens again, some believe the server. Special tokens, a split that
    is not unique, or another tokenizer make the two differ, and tokens per second with them.

    ## How it is computed
    The output tokens that the file's rates count, against the other count in it: over 2 % apart.

    ## Example
    Bad: 275 tokens by the tool's tokenizer, 290 by the server.
    Good: 640 and 640.
    """
    tool = evidence.tool
    if tool is None:
        return
    mine, theirs = tool.output_tokens, tool.recounted_output_tokens
    if mine is None or theirs is None:
        yield Lacks("two counts of output tokens in the file")
    elif abs(mine - theirs) > SHARE * max(mine, theirs):
        yield f"the rates count {mine} output tokens, the other count in the file is {theirs}"
