from collections.abc import Iterator

from ddbench.checks.evidence import Evidence
from ddbench.checks.finding import Outcome, Severity
from ddbench.checks.needs import TOOL
from ddbench.checks.rule import rule


@rule(
    "DDB131",
    "accept-length-is-lifetime",
    Severity.INFO,
    remedy="Flush the cache right before the run, or pool spec_verify_ct of the answers instead.",
    needs=(TOOL,),
)
def accept_length_is_lifetime(evidence: Evidence) -> Iterator[Outcome]:
    """The accept length in this file is the server's mean since it started, not this run's.

    ## Why it matters
    SGLang's own benchmarks copy avg_spec_accept_length from /server_info when they are done. It
    covers the warm-up and every run since the last flush, of one data-parallel rank alone, so the
    second run of a sweep shows a mixture of both, and two runs cannot be told apart by it.

    ## How it is computed
    The file is one of bench_serving or one_batch_server, and has an accept length.

    ## Example
    Bad: three runs at 3.1, 2.9 and 3.0, where the last alone was 3.2.
    Good: tokens per step from the answers: sum(completion_tokens - 1) / sum(spec_verify_ct).
    """
    tool = evidence.tool
    if tool is not None and tool.accept_length_is_lifetime and tool.accept_length is not None:
        yield (
            f"accept length {tool.accept_length:.2f} is the server's mean since its start or last "
            "flush (one rank, warm-up included)"
        )
