from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import TOOL
from ddbench.checks.rule import rule


@rule(
    "DDB310",
    "format-never-seen",
    Severity.INFO,
    remedy="Compare what the findings quote with the file before acting on them.",
    needs=(TOOL,),
)
def format_never_seen(evidence: Evidence) -> Iterator[Outcome]:
    """The reader of this format was written from the tool's source, and met no file of it.

    ## Why it matters
    A source says which keys are written, not which are missing on the one server that you have. A
    figure that is read wrongly looks like one that is right.

    ## How it is computed
    Each reader says whether its fixtures were written by the tool itself.

    ## Example
    Bad: a result of a tool that was never run against ddbench.
    Good: a file of SGLang's bench_serving.
    """
    if evidence.tool is not None and not evidence.tool.seen:
        yield f"{evidence.tool.tool} files are read by their source alone: never seen"
